/* What the library's header shows, as a program of somebody else's: takes a lock and gives it back. */
#include <atlock.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct atlock *al = NULL;
	struct atlock_why why = { .text = "" };
	struct atlock_name name;
	struct atlock_caller caller;
	struct atlock_request request = { .name = &name, .caller = &caller };
	struct atlock_grant grant;
	int err = argc == 2 ? atlock_open(&al, argv[1], &(struct atlock_setup){ .host = "here" }, &why) : -1;

	if (err == 0)
		err = atlock_name_parse("repos/acme/infra/-/modules/vpc/-/production", &name, &why);
	if (err == 0)
		err = atlock_caller_init(&caller, "alice", "build-17", 1000);
	if (err == 0)
		err = atlock_acquire(al, &request, &grant, &why);
	if (err >= 0) {
		printf("token %llu\n", (unsigned long long)grant.token);
		err = atlock_release(al, &request, NULL, &why);
	}
	atlock_close(al);
	if (err < 0)
		fprintf(stderr, "%s\n", why.text[0] == '\0' ? strerror(-err) : why.text);
	return err < 0;
}
