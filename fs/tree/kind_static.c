/* The files of the root that the daemon generates: health, why, README. Each is one function that makes its text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "rows.h"
#include "why_lines.h"

typedef int text_fn(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len);

/* The size is that of the text as this caller would read it now. */
static int static_stat(struct call *call, text_fn *make, double life_s, struct stat *st, struct life *life)
{
	size_t len = 0;
	char *text = NULL;
	int err = make(call, NULL, NULL, &text, &len);

	if (err < 0)
		return err;
	free(text);
	(life_s > 0 ? attr_file : attr_telling)(call->fs, 0444, len, st);
	*life = (struct life){ .entry = life_s, .attr = life_s };
	return 0;
}

static int health_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	(void)node, (void)handle;
	*text = atlock_health_text(call->al, true, len);
	return *text == NULL ? -ENOMEM : 0;
}

/* For stat(), which must not wait for the store: the kernel holds the directory's lock meanwhile. */
static int health_known(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	(void)node, (void)handle;
	*text = atlock_health_text(call->al, false, len);
	return *text == NULL ? -ENOMEM : 0;
}

static int health_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)node;
	return static_stat(call, health_known, 0, st, life);
}

/* `atlock mirror` notes here what it sees: no other program can. */
static int health_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = handle_writes(handle) ? caller_keep(call, handle) : 0;

	(void)node;
	if (err == 0 && handle_writes(handle) && !handle_caller(handle)->admin)
		err = call_refuse(call, -EACCES, ATLOCK_PERMISSION_DENIED,
				  "administrators and their mirror write to health");
	return err;
}

static int health_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	const struct atlock_caller *caller = handle_caller(handle);

	(void)node;
	return caller == NULL ? -EBADF : atlock_health_note(call->al, caller, data, len, &call->why);
}

/* Truncating does nothing yet: in `> f` the line follows. */
static int health_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	struct atlock_caller caller;
	int err = caller_opener(call, handle, &caller);

	(void)node;
	if (err == 0 &&
	    (!caller.admin || (which & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_OPEN)) != 0 || want->st_size != 0))
		err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				  "health is written by the file system and by atlock mirror alone");
	return err;
}

static int why_file_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	(void)node, (void)handle;
	*text = why_text(call->fs->whys, call->ctx, len);
	return *text == NULL ? -ENOMEM : 0;
}

static int why_xattr_get(struct call *call, struct node *node, const char *key, char *value, size_t len)
{
	(void)node;
	return why_part(call->fs->whys, call->ctx, key, value, len);
}

static int why_xattr_list(struct call *call, struct node *node, FILE *names)
{
	static const char keys[] = "user.code\0user.fact\0user.advice";

	(void)call, (void)node;
	return fwrite(keys, 1, sizeof(keys), names) == sizeof(keys) ? 0 : -ENOMEM;
}

static int why_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)node;
	return static_stat(call, why_file_text, 0, st, life);
}

static const char readme[] =
	"Files here are locks. Create one to take it, remove it to give it back.\n"
	"\n"
	"  touch repos/acme/infra/-/modules/vpc/-/production   take it (fails if another has it); again: renew it\n"
	"  cat   repos/acme/infra/-/modules/vpc/-/production   who has it, since when, until when, its fencing token\n"
	"  rm    repos/acme/infra/-/modules/vpc/-/production   give it back; the next waiter has it at once\n"
	"  (set -C; > global/apply)                            take it only if nobody, not even you, has it\n"
	"  flock custom/nightly make                           wait for it, run make, give it back\n"
	"  cat wait/global/apply                               wait for it, then print it; ^C leaves the queue\n"
	"  echo 'priority=high' > wait/global/apply            the same with a request: priority=, ttl=, timeout=\n"
	"  cat config/queue_timeout                            how long a wait may last that has no timeout=; then it fails with\n"
	"                                                      \"Connection timed out\", flock too, and a ticket is gone\n"
	"  touch queue/global/apply/high@build-17              join the queue and go on; ls shows the order\n"
	"  test -e global/apply@build-17                       is it my turn? takes it up, as any access by that name does\n"
	"  echo 'reason=migration' >> global/apply             note something; ttl=90m and renew=15m change the lease\n"
	"  cat why                                             why your last call was refused\n"
	"\n"
	"repos/<repository>/-/<directory>/-/<workspace>[:<project>]   no mkdir needed\n"
	"custom/<any>/<tree>/<name>                                   mkdir as you like\n"
	"global/<command>\n"
	"owners/<git url>/-/applications/<id>                         make one to own the URL, remove the last to free it\n"
	"shared/<resource>/   mkdir it; apps/<app> says UP or DOWN; verdict, and touch stop@<app>, say whether it may stop\n"
	"\n"
	"Add @<name> to say who you are: production@build-17 exists only while build-17 has it, so that test -e, touch -c and\n"
	"rm act only if that is still true. Without it you are your terminal or job (session). @pid:$$ lives as long as the\n"
	"process; @pr:123 is a pull request. A lease is 30m unless you say so; a script that ends leaves its lock until then,\n"
	"so prefer @<name>, @pid:$$ or flock in scripts. Administrators (root) may rm any lock, by <lock>@<who>.\n"
	"pulls/<host>/<repository>/-/<number>/ has a pull request's locks and the status of its projects; rmdir closes it.\n"
	"by/owner/, by/who/ and by/host/ have links to what each holds.\n"
	"events/ has what happened, a line each: tail -F events/live.\n"
	"locks.jsonl lists all locks and waiters; health is for monitors, metrics/ for Prometheus; config/ has the options.\n";

static int readme_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	(void)call, (void)node, (void)handle;
	*text = strdup(readme);
	*len = sizeof(readme) - 1;
	return *text == NULL ? -ENOMEM : 0;
}

static int readme_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)node;
	return static_stat(call, readme_text, LIFE_STEADY, st, life);
}

const struct kind kind_health = {
	.type = S_IFREG,
	.hint = "it is written by the file system and by atlock mirror alone",
	.passing = true,
	.permits = true,
	.stat = health_stat,
	.set = health_set,
	.open = health_open,
	.write = health_write,
	.text = health_text,
};
const struct kind kind_why = {
	.type = S_IFREG,
	.hint = "it is written by the file system alone, after every refusal",
	.passing = true,
	.stat = why_stat,
	.text = why_file_text,
	.xattr_get = why_xattr_get,
	.xattr_list = why_xattr_list,
};
const struct kind kind_readme = {
	.type = S_IFREG,
	.hint = "it is written by the file system alone",
	.constant = true,
	.stat = readme_stat,
	.text = readme_text,
};
