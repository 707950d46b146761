/* Users and passwords are taken out of URLs. */
#include "userinfo.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

static void userinfo_is_taken_out_of_urls(void **state)
{
	static const struct {
		const char *text;
		const char *left;
	} cases[] = {
		{ "https://a:b@h/p", "https://h/p" },
		{ "https://h/p@v1", "https://h/p@v1" },
		{ "ssh://git@h", "ssh://h" },
		{ "a@b", "a@b" },
		{ "x://@h x://y@h", "x://h x://h" },
		{ "https://a@b@h", "https://h" },
		{ "\"https://t@h\",\"@\"", "\"https://h\",\"@\"" },
		{ "://", "://" },
		{ "://@", "://" },
		{ "https:/u:PW@h", "https:/h" },
		{ "//u:PW@h", "//h" },
		{ "https:///u:PW@h/x", "https:///h/x" },
		{ "https://u:P/W@h/x", "https://h/x" },
		{ "https://u:1/W@h/x", "https://h/x" },
		{ "https://u:P#W@h", "https://h" },
		{ "https://u:P?W@h", "https://h" },
		{ "https://u@x:P/W@h/y", "https://h/y" },
		{ "https:\\\\u:PW@h", "https:\\\\h" },
		{ "https://u:P\\W@h", "https://h" },
		{ "https:%2F%2fu:PW@h", "https:%2F%2fh" },
		{ "next=https%3A%2F%2Fu%3APW%40h", "next=https%3A%2F%2Fh" },
		{ "https://u:PW%40h/x", "https://h/x" },
		{ "https://u%3APW@h", "https://h" },
		{ "see https://u:P/W@h, a@b", "see https://h, a@b" },
		{ "https://h.example:8443/p@v1", "https://h.example:8443/p@v1" },
		{ "http://localhost:80/p@v1", "http://localhost:80/p@v1" },
		{ "http://[::1]:80/p@v1", "http://[::1]:80/p@v1" },
		{ "https://h/%40scope/p", "https://h/%40scope/p" },
		{ "a/b@c:d", "a/b@c:d" },
		{ "", "" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)strlcpy(text, cases[i].text, sizeof(text));
		text[userinfo_strip(text, strlen(text))] = '\0';
		assert_string_equal(text, cases[i].left);
	}
}

static void password_is_taken_out_of_an_address(void **state)
{
	static const struct {
		const char *text;
		const char *left;
	} cases[] = {
		{ "u:TOKEN@h:path", "h:path" },
		{ "u:TOKEN@h:a/b@v1", "h:a/b@v1" },
		{ "u:TOKEN@h/a/b", "h/a/b" },
		{ "u:t@ken@h:p", "h:p" },
		{ "u:to:ken@h:p", "h:p" },
		{ ":TOKEN@h:p", "h:p" },
		{ "u:@h:p", "h:p" },
		{ "u:TOKEN@h:path@v2", "v2" },
		{ "u:TOKEN@h", "h" },
		{ "ssh:u:TOKEN@h", "h" },
		{ "https:u:TOKEN@h/x", "h/x" },
		{ "u:TO/KEN@h:path", "h:path" },
		{ "u%3ATOKEN@h:path", "h:path" },
		{ "u:TOKEN%40h:path", "h:path" },
		{ "bob@example.org:TOKEN@h:path", "h:path" },
		{ "https:/u:TOKEN@h", "https:/h" },
		{ "https://u:TO KEN@h/x", "https://h/x" },
		{ "https://u:TO\"K@h/x", "https://h/x" },
		{ "https://a:b@h https://c:d@i", "https://i" },
		{ "git@h:a/b", "git@h:a/b" },
		{ "git@h:22/a:b@c", "git@h:22/a:b@c" },
		{ "git@h:x@y", "git@h:x@y" },
		{ "h:a/b:c@d:e", "d:e" },
		{ "h:path", "h:path" },
		{ "mailto:bob@example.org", "mailto:bob@example.org" },
		{ "https://h/a:b@c:d", "https://h/a:b@c:d" },
		{ "u:t@", "u:t@" },
		{ "@", "@" },
		{ "", "" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)strlcpy(text, cases[i].text, sizeof(text));
		text[userinfo_strip_address(text, strlen(text))] = '\0';
		assert_string_equal(text, cases[i].left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(userinfo_is_taken_out_of_urls),
		cmocka_unit_test(password_is_taken_out_of_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
