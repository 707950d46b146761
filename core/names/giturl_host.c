/* Hosts that have several URLs for one repository, according to their documentation. */
#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "giturl.h"

#define PARTS 6 /* the longest form has five parts */

/* SSH over the https port, which firewalls let pass. */
static const struct {
	const char *from;
	const char *to;
} gateways[] = {
	{ "ssh.github.com:443", "github.com" },
	{ "altssh.gitlab.com:443", "gitlab.com" },
	{ "altssh.bitbucket.org:443", "bitbucket.org" },
};

#define AZURE "dev.azure.com"
#define AZURE_OLD ".visualstudio.com"

static int url_set(char url[ATLOCK_URL_MAX + 1], const char *host, const char *a, const char *b, const char *c,
		   const char *d)
{
	char made[ATLOCK_URL_MAX + 1];
	int n = snprintf(made, sizeof(made), "%s/%s/%s/%s/%s", host, a, b, c, d);

	if (n < 0 || (size_t)n >= sizeof(made))
		return -ENAMETOOLONG;
	memcpy(url, made, (size_t)n + 1);
	return 0;
}

/* Splits a copy of a URL. Returns the number of parts, the host included, at most PARTS. */
static size_t url_split(char *copy, const char *parts[PARTS])
{
	size_t n = 0;
	char *save = NULL;

	for (char *part = strtok_r(copy, "/", &save); part != NULL && n < PARTS; part = strtok_r(NULL, "/", &save))
		parts[n++] = part;
	return n;
}

/*
 * Azure: dev.azure.com/ORG/PROJECT/_git/REPO, where /PROJECT may be omitted if REPO has the same name; over SSH
 * ssh.dev.azure.com:v3/ORG/PROJECT/REPO; and formerly ORG.visualstudio.com[/DefaultCollection][/PROJECT]/_git/REPO and
 * vs-ssh.visualstudio.com:v3/....
 */
static int azure_rules(char url[ATLOCK_URL_MAX + 1])
{
	char copy[ATLOCK_URL_MAX + 1];
	const char *parts[PARTS];
	char *suffix;
	size_t at;
	size_t n;

	(void)strlcpy(copy, url, sizeof(copy));
	n = url_split(copy, parts);
	if (n == 5 && strcmp(parts[1], "v3") == 0 &&
	    (strcmp(parts[0], "ssh." AZURE) == 0 || strcmp(parts[0], "vs-ssh" AZURE_OLD) == 0))
		return url_set(url, AZURE, parts[2], parts[3], "_git", parts[4]);
	if (n == 4 && strcmp(parts[0], AZURE) == 0 && strcmp(parts[2], "_git") == 0)
		return url_set(url, AZURE, parts[1], parts[3], "_git", parts[3]);
	suffix = strchr(copy, '.');
	if (suffix == NULL || strcmp(suffix, AZURE_OLD) != 0)
		return 0;
	*suffix = '\0';
	at = n > 2 && strcmp(parts[1], "defaultcollection") == 0 ? 2 : 1;
	if (n == at + 2 && strcmp(parts[at], "_git") == 0)
		return url_set(url, AZURE, parts[0], parts[at + 1], "_git", parts[at + 1]);
	if (n == at + 3 && strcmp(parts[at + 1], "_git") == 0)
		return url_set(url, AZURE, parts[0], parts[at], "_git", parts[at + 2]);
	return 0;
}

int giturl_host_rules(char url[ATLOCK_URL_MAX + 1])
{
	size_t host = strcspn(url, "/");

	for (size_t i = 0; i < sizeof(gateways) / sizeof(gateways[0]); i++) {
		size_t to = strlen(gateways[i].to);

		if (strlen(gateways[i].from) != host || strncmp(gateways[i].from, url, host) != 0)
			continue;
		memmove(url + to, url + host, strlen(url + host) + 1);
		memcpy(url, gateways[i].to, to);
		break;
	}
	return azure_rules(url);
}
