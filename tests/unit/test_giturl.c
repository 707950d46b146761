/*
 * Every spelling of a Git URL is one, what is printed reads as itself, and nothing of a password is left anywhere.
 */
#include "giturl.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
	const char *text;
	const char *url;
} vectors[] = {
	/* Argo CD's pairs, and ssh and https as one. */
	{ "git@GITHUB.com:argoproj/test", "github.com/argoproj/test" },
	{ "git@github.com:argoproj/test.git", "github.com/argoproj/test" },
	{ "ssh://git@GITHUB.com/argoproj/test", "github.com/argoproj/test" },
	{ "https://GITHUB.com/argoproj/test.git", "github.com/argoproj/test" },
	{ " https://github.com/argoproj/TEST \n", "github.com/argoproj/test" },
	{ "https://github.com:4443/TEST.git", "github.com:4443/test" },
	{ "https://github.com/test", "github.com/test" },
	{ "https://dev.azure.com/1234/myproj/_git/myrepo", "dev.azure.com/1234/myproj/_git/myrepo" },

	/* Schemes and ports. */
	{ "github.com/argoproj/test", "github.com/argoproj/test" },
	{ "https://host/a/b.git", "host/a/b" },
	{ "https:/host/a/b", "host/a/b" },
	{ "HTTPS://host/a/b", "host/a/b" },
	{ "http://host/a/b", "host/a/b" },
	{ "http://host:80/a/b", "host/a/b" },
	{ "https://host:443/a/b", "host/a/b" },
	{ "https://host:0443/a/b", "host/a/b" },
	{ "https://host:/a/b", "host/a/b" },
	{ "ssh://git@host:22/a/b", "host/a/b" },
	{ "git://host:9418/a/b", "host/a/b" },
	{ "git+ssh://git@host/a/b", "host/a/b" },
	{ "ssh+git://git@host:22/a/b", "host/a/b" },
	{ "git+https://host/a/b", "host/a/b" },
	{ "ssh://git@host:2222/a/b", "host:2222/a/b" },
	{ "https://host:22/a/b", "host:22/a/b" },
	{ "ssh://host:443/a/b", "host:443/a/b" },
	{ "http://host:443/a/b", "host:443/a/b" },
	{ "host:4443/a/b", "host:4443/a/b" },
	{ "git@host:4443/a/b", "host/4443/a/b" },

	/* The form of scp. */
	{ "git@host:a/b", "host/a/b" },
	{ "git@host:/a/b.git/", "host/a/b" },
	{ "host:a/b", "host/a/b" },
	{ "git.example.com:/srv/a", "git.example.com/srv/a" },
	{ "git@host:~alice/b", "host/~alice/b" },
	{ "ssh:a/b", "ssh/a/b" },

	/* The end, slashes, dots. */
	{ "https://host/a/b/", "host/a/b" },
	{ "https://host/a/b.git///", "host/a/b" },
	{ "https://host//a///b", "host/a/b" },
	{ "https://host/a/./b", "host/a/b" },
	{ "https://host/a/b.GIT", "host/a/b" },
	{ "https://host/a/b.git.git", "host/a/b" },
	{ "https://host/a/b/.git", "host/a/b" },
	{ "https://host/a.git/b", "host/a.git/b" },
	{ "https://host/a/-.git", "host/a/-.git" },
	{ "https://host/a/..git", "host/a/..git" },
	{ "https://host/a/b.wiki.git", "host/a/b.wiki" },
	{ "https://host/a/b.github", "host/a/b.github" },
	{ "\t\r\nhttps://host/a/b\r\n", "host/a/b" },

	/* Users and passwords. */
	{ "https://TOKEN@host/a/b", "host/a/b" },
	{ "https://bot:TOKEN@host/a/b", "host/a/b" },
	{ "https://bot:TO@KEN@host:443/a/b", "host/a/b" },
	{ "https://x-access-token:TOKEN@github.com/acme/infra.git", "github.com/acme/infra" },
	{ "https://bot:TO%2FKEN@host/a/b", "host/a/b" },
	{ "bot:TOKEN@host/a/b", "host/a/b" },
	{ "git@host/a/b", "host/a/b" },

	/* Hosts. */
	{ "https://host./a/b", "host/a/b" },
	{ "https://git_1.ex-ample.com/a", "git_1.ex-ample.com/a" },
	{ "https://xn--mnchen-3ya.de/a", "xn--mnchen-3ya.de/a" },
	{ "https://127.0.0.1:8443/a", "127.0.0.1:8443/a" },
	{ "https://[2001:DB8:0:0::1]/a/b", "[2001:db8::1]/a/b" },
	{ "https://[::1]:8443/a/b", "[::1]:8443/a/b" },
	{ "ssh://git@[::1]:22/a/b", "[::1]/a/b" },
	{ "git@[::1]:a/b", "[::1]/a/b" },
	{ "[::1]:8443/a/b", "[::1]:8443/a/b" },

	/* Groups of any depth, and escapes. */
	{ "https://gitlab.com/Group/sub/Sub2/sub3/proj.git", "gitlab.com/group/sub/sub2/sub3/proj" },
	{ "git@gitlab.com:a/b/c/d/e/f/g/h/i/j/k.git", "gitlab.com/a/b/c/d/e/f/g/h/i/j/k" },
	{ "https://host/%41/b%2Egit", "host/a/b" },
	{ "https://host/my%20project/b", "host/my%20project/b" },
	{ "https://host/my project/b", "host/my%20project/b" },
	{ "https://host/a%2fb/c", "host/a%2Fb/c" },
	{ "https://host/a%40b/c", "host/a%40b/c" },
	{ "https://host/a%3Fb%23/c", "host/a%3Fb%23/c" },
	{ "https://host/100%25/c", "host/100%25/c" },
	{ "https://host/%2D/c", "host/%2D/c" },
	{ "https://host/b%20", "host/b%20" },
	{ "https://host/a:b/c", "host/a:b/c" },
	{ "https://host/\xc3\xa9/%C3%A9", "host/\xc3\xa9/\xc3\xa9" },

	/* Azure in all its forms, and ssh through the port of https. */
	{ "https://org@dev.azure.com/Org/My%20Proj/_git/Repo", "dev.azure.com/org/my%20proj/_git/repo" },
	{ "git@ssh.dev.azure.com:v3/org/proj/repo", "dev.azure.com/org/proj/_git/repo" },
	{ "ssh://git@ssh.dev.azure.com:22/v3/org/proj/repo", "dev.azure.com/org/proj/_git/repo" },
	{ "https://dev.azure.com/org/_git/repo", "dev.azure.com/org/repo/_git/repo" },
	{ "https://org.visualstudio.com/proj/_git/repo", "dev.azure.com/org/proj/_git/repo" },
	{ "https://org.visualstudio.com/DefaultCollection/proj/_git/repo", "dev.azure.com/org/proj/_git/repo" },
	{ "https://org.visualstudio.com/_git/repo", "dev.azure.com/org/repo/_git/repo" },
	{ "org@vs-ssh.visualstudio.com:v3/org/proj/repo", "dev.azure.com/org/proj/_git/repo" },
	{ "git@ssh.dev.azure.com:v3/org/proj", "ssh.dev.azure.com/v3/org/proj" },
	{ "https://org.visualstudio.com/a/b", "org.visualstudio.com/a/b" },
	{ "ssh://git@ssh.github.com:443/acme/infra.git", "github.com/acme/infra" },
	{ "ssh://git@altssh.gitlab.com:443/acme/infra.git", "gitlab.com/acme/infra" },
	{ "ssh://git@altssh.bitbucket.org:443/acme/infra.git", "bitbucket.org/acme/infra" },
	{ "ssh://git@ssh.github.com/acme/infra.git", "ssh.github.com/acme/infra" },
};

static const char *const bad[] = {
	"",
	" \n",
	"https:",
	"https://",
	"https:///a/b",
	"https://@/a",
	"https://bot:SECRET@/a/b",
	"git@:a/b",
	"https://host",
	"https://host/",
	"https://host/.git",
	"https://host//./",
	"host",
	"git@host:",
	"git@host:.git",
	"https://host/a/../b",
	"https://host/%2e%2E/b",
	"https://host/..",
	"https://host/a\nb/c",
	"https://host/a%0Ab",
	"https://ho\tst/a",
	"https://host/a%00b",
	"https://host/a%7fb",
	"https://host/%zz",
	"https://host/a%4",
	"https://host/-/a",
	"https://-host/a",
	"https://a..b/c",
	"https://.a/c",
	"https://./c",
	"https://ho st/a",
	"https://h\xc3\xb6st/a",
	"https://h%6fst/a",
	"https://host:0/a",
	"https://host:65536/a",
	"https://host:99999999999999999999/a",
	"https://host:ssh/a",
	"https://host:+1/a",
	"ssh://git@github.com:acme/infra",
	"https://[::1/a",
	"https://[]/a",
	"https://[::g]/a",
	"https://[::1]x/a",
	"https://[fe80::1%25eth0]/a",
	"ftp://host/a",
	"file:///srv/a",
	"file:/srv/a",
	"C:/a",
	"ftp:",
	"/srv/a",
	"./a",
	"../a",
	"https://host/a?SECRET=1",
	"https://host/a#SECRET",
	"https://host?SECRET",
	"https://bot:SE/CRET@host/a",
	"https://SEC/RET@host/a",
	"git@host:a@b/c",
	"https://host/a@b",
};

static void each_spelling_is_the_one(void **state)
{
	char url[ATLOCK_URL_MAX + 1];
	struct atlock_why why;

	(void)state;
	assert_true(COUNT(vectors) >= 40);
	for (size_t i = 0; i < COUNT(vectors); i++) {
		why.text[0] = '\0';
		if (atlock_url_normalise(vectors[i].text, url, &why) != 0)
			fail_msg("%s: %s", vectors[i].text, why.text);
		assert_string_equal(url, vectors[i].url);
		assert_null(strstr(url, "TOKEN"));
		assert_null(strcasestr(url, "token"));
	}
}

static void what_is_printed_reads_as_itself(void **state)
{
	char again[ATLOCK_URL_MAX + 1];

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		assert_int_equal(atlock_url_normalise(vectors[i].url, again, NULL), 0);
		assert_string_equal(again, vectors[i].url);
	}
}

static void what_is_no_url_is_refused_and_not_quoted(void **state)
{
	char url[ATLOCK_URL_MAX + 1];
	struct atlock_why why;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		int rc = atlock_url_normalise(bad[i], url, &why);

		if (rc != -EINVAL)
			fail_msg("\"%s\" gives %d, %s", bad[i], rc, url);
		assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
		assert_true(strncmp(why.text, "this is no Git URL: ", 20) == 0);
		assert_null(strcasestr(why.text, "secret"));
		assert_null(strcasestr(why.text, "cret"));
	}
	assert_int_equal(atlock_url_normalise(NULL, url, &why), -EINVAL);
	assert_int_equal(atlock_url_normalise("https://host/a", NULL, &why), -EINVAL);
}

static void what_is_too_long_is_refused(void **state)
{
	char text[ATLOCK_PATH_MAX + 64];
	char url[ATLOCK_URL_MAX + 1];
	struct atlock_why why;
	size_t len;

	(void)state;
	/* One component, the whole, a host, and far too much. */
	len = strlcpy(text, "https://host/", sizeof(text));
	memset(text + len, 'x', ATLOCK_COMPONENT_MAX + 1);
	text[len + ATLOCK_COMPONENT_MAX] = '\0';
	assert_int_equal(atlock_url_normalise(text, url, &why), 0);
	text[len + ATLOCK_COMPONENT_MAX] = 'x';
	text[len + ATLOCK_COMPONENT_MAX + 1] = '\0';
	assert_int_equal(atlock_url_normalise(text, url, &why), -ENAMETOOLONG);
	assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
	for (size_t i = 0; i < ATLOCK_URL_MAX - 4; i++)
		text[len + i] = i % 10 == 9 ? '/' : 'x';
	text[len + ATLOCK_URL_MAX - 5] = '\0';
	assert_int_equal(atlock_url_normalise(text, url, &why), 0);
	assert_int_equal(strlen(url), ATLOCK_URL_MAX);
	text[len + ATLOCK_URL_MAX - 5] = 'x';
	text[len + ATLOCK_URL_MAX - 4] = '\0';
	assert_int_equal(atlock_url_normalise(text, url, &why), -ENAMETOOLONG);
	memset(text + 8, 'h', ATLOCK_COMPONENT_MAX + 1);
	(void)strlcpy(text + 8 + ATLOCK_COMPONENT_MAX + 1, "/a", 8);
	assert_int_equal(atlock_url_normalise(text, url, &why), -ENAMETOOLONG);
	memset(text + 8, '/', ATLOCK_PATH_MAX);
	text[ATLOCK_PATH_MAX + 8] = '\0';
	assert_int_equal(atlock_url_normalise(text, url, &why), -ENAMETOOLONG);
	/* Rewriting may make it longer. */
	len = strlcpy(text, "https://dev.azure.com/", sizeof(text));
	memset(text + len, 'x', 200);
	(void)strlcpy(text + len + 200, "/_git/", 16);
	memset(text + len + 206, 'y', 200);
	text[len + 406] = '\0';
	assert_int_equal(atlock_url_normalise(text, url, &why), -ENAMETOOLONG);
}

/* A small generator of pieces: whatever is taken must be its own spelling, and within its bounds. */
static void any_text_is_refused_or_has_one_spelling(void **state)
{
	static const char *const pieces[] = { "https",
					      "ssh",
					      ":",
					      "/",
					      "//",
					      "@",
					      "host",
					      "a",
					      ".git",
					      ".",
					      "..",
					      "-",
					      "%2F",
					      "%",
					      "%41",
					      "[",
					      "]",
					      "::1",
					      "22",
					      "443",
					      " ",
					      "\n",
					      "?",
					      "v3",
					      "_git",
					      "dev.azure.com",
					      ".visualstudio.com",
					      "ssh.github.com" };
	uint32_t seed = 1;
	char text[256];
	char url[ATLOCK_URL_MAX + 1];
	char again[ATLOCK_URL_MAX + 1];
	unsigned int taken = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		text[0] = '\0';
		seed = seed * 1664525U + 1013904223U;
		for (unsigned int n = 2 + (seed >> 28); n > 0; n--) {
			seed = seed * 1664525U + 1013904223U;
			(void)strlcat(text, pieces[(seed >> 16) % COUNT(pieces)], sizeof(text));
		}
		if (atlock_url_normalise(text, url, NULL) != 0)
			continue;
		taken++;
		if (atlock_url_normalise(url, again, NULL) != 0 || strcmp(url, again) != 0)
			fail_msg("\"%s\" gives %s, and that %s", text, url, again);
	}
	assert_true(taken > 1000);
}

static void the_way_to_a_repository_is_known(void **state)
{
	static const struct {
		const char *text;
		const char *prefix;
		const char *url; /* NULL: not whole */
	} ways[] = {
		{ "https:", "", NULL },
		{ "https:/github.com", "github.com", NULL },
		{ "https:/github.com:4443", "github.com:4443", NULL },
		{ "git@github.com:", "github.com", NULL },
		{ "git@GitHub.com:Acme", "github.com/acme", "github.com/acme" },
		{ "https:/github.com/acme/infra.git", "github.com/acme/infra.git", "github.com/acme/infra" },
		{ "https:/github.com/.git", "github.com/.git", NULL },
		{ "ssh:/ssh.github.com:443/a", "ssh.github.com:443/a", "github.com/a" },
	};
	struct giturl url;

	(void)state;
	for (size_t i = 0; i < COUNT(ways); i++) {
		assert_int_equal(giturl_parse(ways[i].text, &url, NULL), 0);
		assert_string_equal(url.prefix, ways[i].prefix);
		assert_int_equal(url.whole, ways[i].url != NULL);
		if (url.whole)
			assert_string_equal(url.text, ways[i].url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_spelling_is_the_one),
		cmocka_unit_test(what_is_printed_reads_as_itself),
		cmocka_unit_test(what_is_no_url_is_refused_and_not_quoted),
		cmocka_unit_test(what_is_too_long_is_refused),
		cmocka_unit_test(any_text_is_refused_or_has_one_spelling),
		cmocka_unit_test(the_way_to_a_repository_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
