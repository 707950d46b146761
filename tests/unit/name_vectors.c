#include "unit/name_vectors.h"

#include <errno.h>

#define R(p, r, d, w) .path = (p), .repo = (r), .dir = (d), .workspace = (w)
#define G(p, w) .path = (p), .workspace = (w)
#define BAD(p, e, s) .path = (p), .err = -(e), .says = (s)
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define C255 FIFTY FIFTY FIFTY FIFTY FIFTY "12345"

const struct name_vector name_vectors[] = {
	/* Repositories of every host. */
	{ R("repos/acme/infra/-/modules/vpc/-/production", "acme/infra", "modules/vpc", "production") },
	{ R("repos/group/sub/deeper/still/repo/-/a/-/default", "group/sub/deeper/still/repo", "a", "default") },
	{ R("repos/org/My Project/My Repo/-/env/-/default", "org/My Project/My Repo", "env", "default") },
	{ R("repos/Display Name/Repo-1.x/-/d/-/default", "Display Name/Repo-1.x", "d", "default") },
	{ R("repos/single/-/d/-/default", "single", "d", "default") },
	{ R("repos/a:b/c@d/-/e:f/g@h/-/ws", "a:b/c@d", "e:f/g@h", "ws") },
	{ R("repos/ACME/infra/-/d/-/ws", "ACME/infra", "d", "ws") },
	{ R("repos/.github/.x/-/.terraform/..a/-/.ws", ".github/.x", ".terraform/..a", ".ws") },
	{ R("repos/--/-a/-/a-/---/-/--", "--/-a", "a-/---", "--") },
	{ R("repos/r/-/ leading and trailing /-/ ws ", "r", " leading and trailing ", " ws ") },
	{ R("repos/r/-/\\/-/\\\"'`$(x)*?[a]~", "r", "\\", "\\\"'`$(x)*?[a]~") },

	/* The repository's root directory. */
	{ R("repos/acme/infra/-/-/default", "acme/infra", ".", "default") },
	{ R("repos/acme/infra/-/./-/default", "acme/infra", ".", "default"),
	  .spelling = "repos/acme/infra/-/-/default" },
	{ R("repos/r/-/./-/ws:p@w", "r", ".", "ws"), .project = "p", .who = "w", .spelling = "repos/r/-/-/ws:p" },
	{ R("repos/r/-/-/%2D", "r", ".", "-") },

	/* The same words in other fields are other locks. */
	{ R("repos/a/-/b/c/-/d", "a", "b/c", "d") },
	{ R("repos/a/b/-/c/-/d", "a/b", "c", "d") },
	{ R("repos/a/-/b/-/c:d", "a", "b", "c"), .project = "d" },
	{ R("repos/a/-/b/-/c", "a", "b", "c") },
	{ R("repos/a/b/-/-/c", "a/b", ".", "c") },
	{ R("repos/a/-/b/-/c%3Ad", "a", "b", "c:d") },
	{ R("repos/a/-/b/-/c%2Fd", "a", "b", "c/d") },

	/* Workspaces. */
	{ R("repos/r/-/d/-/a+b=c&d#e", "r", "d", "a+b=c&d#e") },
	{ R("repos/r/-/d/-/100%25", "r", "d", "100%") },
	{ R("repos/r/-/d/-/%25", "r", "d", "%") },
	{ R("repos/r/-/d/-/%2541", "r", "d", "%41") },
	{ R("repos/r/-/d/-/%252F", "r", "d", "%2F") },
	{ R("repos/r/-/d/-/a%40b", "r", "d", "a@b") },
	{ R("repos/r/-/d/-/%3A", "r", "d", ":") },
	{ R("repos/r/-/d/-/%40%3A%2F%25", "r", "d", "@:/%") },
	{ R("repos/r/-/d/-/caf\xc3\xa9", "r", "d", "caf\xc3\xa9") },
	{ R("repos/r/-/d/-/cafe\xcc\x81", "r", "d", "cafe\xcc\x81") },
	{ R("repos/r/-/d/-/\xe7\x94\x9f\xe4\xba\xa7", "r", "d", "\xe7\x94\x9f\xe4\xba\xa7") },
	{ R("repos/r/-/d/-/\xf0\x9f\x94\x92", "r", "d", "\xf0\x9f\x94\x92") },
	{ R("repos/r/-/d/-/\xff\xfe", "r", "d", "\xff\xfe") },
	{ R("repos/r/-/d/-/a\xc2\x9b"
	    "b",
	    "r", "d",
	    "a\xc2\x9b"
	    "b") },
	{ R("repos/r/-/d/-/a%0Ab%09%1B%7F", "r", "d", "a\nb\t\x1b\x7f") },
	{ R("repos/r/-/d/-/Default", "r", "d", "Default") },
	{ R("repos/r/-/d/-/default", "r", "d", "default") },

	/* Projects. */
	{ R("repos/r/-/d/-/ws:vpc", "r", "d", "ws"), .project = "vpc" },
	{ R("repos/r/-/d/-/ws:team%2Fvpc~1.x", "r", "d", "ws"), .project = "team/vpc~1.x" },
	{ R("repos/r/-/d/-/ws:%2F", "r", "d", "ws"), .project = "/" },
	{ R("repos/r/-/d/-/ws:a%3Ab%40c%25", "r", "d", "ws"), .project = "a:b@c%" },
	{ R("repos/r/-/d/-/a%3Ab:c", "r", "d", "a:b"), .project = "c" },
	{ R("repos/r/-/d/-/ws:-", "r", "d", "ws"), .project = "-" },
	{ R("repos/r/-/d/-/ws:..", "r", "d", "ws"), .project = ".." },

	/* A component that is exactly "-", "." or "..". */
	{ R("repos/a/%2D/b/-/%2D/c/%2D/-/%2D", "a/-/b", "-/c/-", "-") },
	{ R("repos/%2D/-/%2D/-/ws", "-", "-", "ws") },
	{ R("repos/r/-/d/-/%2E", "r", "d", ".") },
	{ R("repos/r/-/d/-/%2E%2E", "r", "d", "..") },
	{ R("repos/r/-/d/-/-:p", "r", "d", "-"), .project = "p" },
	{ R("repos/r/-/d/-/.:p", "r", "d", "."), .project = "p" },
	{ R("repos/r/-/d/-/..:p", "r", "d", ".."), .project = "p" },
	{ R("repos/r/-/d/-/%2D@w", "r", "d", "-"), .who = "w", .spelling = "repos/r/-/d/-/%2D" },
	{ R("repos/%2E%2E/-/%2E%2E/a/-/ws", "..", "../a", "ws"), .wanders = true },
	{ R("repos/%2E/-/a/%2E/-/ws", ".", "a/.", "ws"), .wanders = true },

	/* Who. */
	{ R("repos/r/-/d/-/ws@build-17", "r", "d", "ws"), .who = "build-17", .spelling = "repos/r/-/d/-/ws" },
	{ R("repos/r/-/d/-/ws@pid:4711", "r", "d", "ws"), .who = "pid:4711", .spelling = "repos/r/-/d/-/ws" },
	{ R("repos/r/-/d/-/ws:p@pr:123", "r", "d", "ws"), .project = "p", .who = "pr:123",
	  .spelling = "repos/r/-/d/-/ws:p" },
	{ R("repos/r/-/d/-/ws@a@b:c", "r", "d", "ws"), .who = "a@b:c", .spelling = "repos/r/-/d/-/ws" },
	{ R("repos/r/-/d/-/ws@@", "r", "d", "ws"), .who = "@", .spelling = "repos/r/-/d/-/ws" },
	{ R("repos/r/-/d/-/ws@a%2Fb%25%0A", "r", "d", "ws"), .who = "a%2Fb%25%0A", .spelling = "repos/r/-/d/-/ws" },
	{ R("repos/r/-/d/-/ws@-", "r", "d", "ws"), .who = "-", .spelling = "repos/r/-/d/-/ws" },
	{ R("repos/r/-/d/-/a%40b@c", "r", "d", "a@b"), .who = "c", .spelling = "repos/r/-/d/-/a%40b" },

	/* Commands. */
	{ G("global/apply", "apply") },
	{ G("global/plan@w", "plan"), .who = "w", .spelling = "global/plan" },
	{ G("global/policy_check", "policy_check") },
	{ G("global/a:b", "a:b") },
	{ G("global/a%2Fb%40c%25", "a/b@c%") },
	{ G("global/%2D", "-") },
	{ G("global/..a", "..a") },

	/* Directories. */
	{ BAD("repos", EISDIR, "directory") },
	{ BAD("global", EISDIR, "directory") },
	{ BAD("custom", EISDIR, "directory") },
	{ BAD("repos/acme", EISDIR, "directory") },
	{ BAD("repos/acme/infra", EISDIR, "directory") },
	{ BAD("repos/acme/infra/-", EISDIR, "directory") },
	{ BAD("repos/acme/infra/-/.", EISDIR, "directory") },
	{ BAD("repos/acme/infra/-/-", EISDIR, "directory") },
	{ BAD("repos/acme/infra/-/modules", EISDIR, "directory") },
	{ BAD("repos/acme/infra/-/modules/-", EISDIR, "directory") },
	{ BAD("repos/a@b", EISDIR, "directory") },

	/* Below a lock, and elsewhere. */
	{ BAD("repos/r/-/d/-/ws/x", ENOTDIR, "below a lock") },
	{ BAD("repos/r/-/d/-/ws/-/x", ENOTDIR, "below a lock") },
	{ BAD("repos/r/-/-/ws/x", ENOTDIR, "below a lock") },
	{ BAD("global/apply/lock", ENOTDIR, "below a lock") },
	{ BAD("queue/repos/r/-/d/-/ws", ENOENT, "repos") },
	{ BAD("Repos/r/-/d/-/ws", ENOENT, "Repos") },
	{ BAD("custom/a", EINVAL, "custom/") },

	/* Not the one spelling. */
	{ BAD("repos/r/-/d/-/%41", EINVAL, "spelled \"A\"") },
	{ BAD("repos/r/-/d/-/a%2fb", EINVAL, "spelled \"a%2Fb\"") },
	{ BAD("repos/r/-/d/-/a%3ab", EINVAL, "spelled \"a%3Ab\"") },
	{ BAD("repos/r/-/d/-/a%2Db", EINVAL, "spelled \"a-b\"") },
	{ BAD("repos/r/-/d/-/%2Ea", EINVAL, "spelled \".a\"") },
	{ BAD("repos/r/-/d/-/%2D:p", EINVAL, "spelled \"-\"") },
	{ BAD("repos/r/-/d/-/ws:%2D", EINVAL, "spelled \"-\"") },
	{ BAD("repos/r/-/d/-/ws:a:b", EINVAL, "spelled \"a%3Ab\"") },
	{ BAD("repos/r/-/d/-/.%2E", EINVAL, "spelled \"%2E%2E\"") },
	{ BAD("repos/r/-/d/-/..", EINVAL, "spelled \"%2E%2E\"") },
	{ BAD("repos/r/-/d/-/.", EINVAL, "spelled \"%2E\"") },
	{ BAD("repos/r/-/d/-/-", EINVAL, "spelled \"%2D\"") },
	{ BAD("repos/r/-/d/-/-@w", EINVAL, "spelled \"%2D\"") },
	{ BAD("repos/r/-/-/-/ws", EINVAL, "spelled \"%2D\"") },
	{ BAD("repos/a%3Ab/-/d/-/ws", EINVAL, "spelled \"a:b\"") },
	{ BAD("repos/r/-/a%40b/-/ws", EINVAL, "spelled \"a@b\"") },
	{ BAD("repos/r/-/d/-/ws@a%40b", EINVAL, "spelled \"a@b\"") },
	{ BAD("repos/r/-/d/-/ws@%2D", EINVAL, "spelled \"-\"") },
	{ BAD("global/a%3Ab", EINVAL, "spelled \"a:b\"") },
	{ BAD("global/..", EINVAL, "spelled \"%2E%2E\"") },
	{ BAD("global/-", EINVAL, "spelled \"%2D\"") },
	{ BAD("repos/a%2Fb/-/d/-/ws", EINVAL, "'/' is spelled as it is") },
	{ BAD("repos/r/-/a%2Fb/-/ws", EINVAL, "'/' is spelled as it is") },
	{ BAD("repos/../-/d/-/ws", EINVAL, "%2E%2E") },
	{ BAD("repos/./-/d/-/ws", EINVAL, "%2E") },
	{ BAD("repos/r/-/a/../b/-/ws", EINVAL, "%2E%2E") },
	{ BAD("repos/r/-/a/./-/ws", EINVAL, "%2E") },
	{ BAD("repos/r/-/./a/-/ws", EINVAL, "leave out") },
	{ BAD("repos/r/-/././-/ws", EINVAL, "leave out") },
	{ BAD("repos/r/-/%2E/-/ws", EINVAL, "root directory") },

	/* Broken escapes and control bytes. */
	{ BAD("repos/r/-/d/-/100%", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/%2", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/%", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/%GG", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/% 2", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/%-1", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/%00", EINVAL, "%00") },
	{ BAD("repos/r/-/d/-/ws@%00", EINVAL, "%00") },
	{ BAD("repos/r/-/d/-/%2@w", EINVAL, "%25") },
	{ BAD("repos/r%/-/d/-/ws", EINVAL, "%25") },
	{ BAD("repos/r/-/d/-/a\nb", EINVAL, "a%0Ab") },
	{ BAD("repos/r/-/d/-/ws:a\tb", EINVAL, "a%09b") },
	{ BAD("repos/r/-/d/-/ws@a\x1b[2J", EINVAL, "a%1B[2J") },
	{ BAD("repos/r\x7f/-/d/-/ws", EINVAL, "r%7F") },
	{ BAD("global/a\rb", EINVAL, "a%0Db") },

	/* Something is missing. */
	{ BAD("", EINVAL, "repos/") },
	{ BAD("/", EINVAL, "repos/") },
	{ BAD("/repos/r/-/d/-/ws", EINVAL, "repos/") },
	{ BAD("repos/", EINVAL, "empty") },
	{ BAD("repos//r/-/d/-/ws", EINVAL, "empty") },
	{ BAD("repos/r//-/d/-/ws", EINVAL, "empty") },
	{ BAD("repos/r/-//-/ws", EINVAL, "empty") },
	{ BAD("repos/r/-/d/", EINVAL, "empty") },
	{ BAD("repos/r/-/d/-/ws/", EINVAL, "empty") },
	{ BAD("global/apply/", EINVAL, "empty") },
	{ BAD("repos/-", EINVAL, "no repository") },
	{ BAD("repos/-/d/-/ws", EINVAL, "no repository") },
	{ BAD("repos/r/-/d/-/@w", EINVAL, "needs a workspace") },
	{ BAD("repos/r/-/d/-/:p", EINVAL, "needs a workspace") },
	{ BAD("repos/r/-/d/-/ws:", EINVAL, "no project") },
	{ BAD("repos/r/-/d/-/ws:@w", EINVAL, "no project") },
	{ BAD("repos/r/-/d/-/ws@", EINVAL, "nothing") },
	{ BAD("global/", EINVAL, "empty") },
	{ BAD("global/@w", EINVAL, "before the '@'") },
	{ BAD("global/apply@", EINVAL, "nothing") },

	/* Too long. */
	{ R("repos/r/-/d/-/" C255, "r", "d", C255) },
	{ R("repos/" C255 "/-/d/-/ws", C255, "d", "ws") },
	{ BAD("repos/r/-/d/-/" C255 "6", ENAMETOOLONG, "255") },
	{ BAD("repos/" C255 "6/-/d/-/ws", ENAMETOOLONG, "255") },
	{ BAD("repos/r/-/" C255 "6", ENAMETOOLONG, "255") },
	{ BAD("global/" C255 "6", ENAMETOOLONG, "255") },
	{ BAD("repos/" C255 "/-/" C255 "/-/ws", ENAMETOOLONG, "489") },
	{ BAD("repos/" C255 "/" C255, ENAMETOOLONG, "489") },
};
const size_t name_vectors_count = sizeof(name_vectors) / sizeof(name_vectors[0]);

const struct legacy_vector legacy_vectors[] = {
	{ "acme/infra", "modules/vpc", "production", "vpc", "acme/infra/modules/vpc/production/vpc", NULL,
	  "repos/acme/infra/-/modules/vpc/-/production:vpc" },
	{ "acme/infra", "modules/vpc", "production", "", "acme/infra/modules/vpc/production/",
	  "acme/infra/modules/vpc/production", "repos/acme/infra/-/modules/vpc/-/production" },
	{ "acme/infra", ".", "default", "", "acme/infra/./default/", "acme/infra/./default",
	  "repos/acme/infra/-/-/default" },
	{ "acme/infra", ".", "default", "p", "acme/infra/./default/p", NULL, "repos/acme/infra/-/-/default:p" },
	{ "acme/infra", "d", "ws", "team/vpc", "acme/infra/d/ws/team/vpc", NULL,
	  "repos/acme/infra/-/d/-/ws:team%2Fvpc" },
	{ "acme/infra", "d", "ws", "/x/", "acme/infra/d/ws//x/", NULL, "repos/acme/infra/-/d/-/ws:%2Fx%2F" },
	{ "org/My Project/My Repo", "env", "default", "", "org/My Project/My Repo/env/default/",
	  "org/My Project/My Repo/env/default", "repos/org/My Project/My Repo/-/env/-/default" },
	{ "g/s1/s2/s3/r", "d", "default", "", "g/s1/s2/s3/r/d/default/", "g/s1/s2/s3/r/d/default",
	  "repos/g/s1/s2/s3/r/-/d/-/default" },
	{ "r", "-", "-", "", "r/-/-/", "r/-/-", "repos/r/-/%2D/-/%2D" },
	{ "r", "d", "a%b:c@d", "", "r/d/a%b:c@d/", "r/d/a%b:c@d", "repos/r/-/d/-/a%25b%3Ac%40d" },
	{ "r", "d", "%2F", "", "r/d/%2F/", "r/d/%2F", "repos/r/-/d/-/%252F" },
	{ "pr/x", "d", "ws", "", "pr/x/d/ws/", "pr/x/d/ws", "repos/pr/x/-/d/-/ws" },

	/* Each group shares a key of Atlantis', and no name of ours. */
	{ "a/b", "c", "d", "", "a/b/c/d/", "a/b/c/d", "repos/a/b/-/c/-/d" },
	{ "a", "b/c", "d", "", "a/b/c/d/", "a/b/c/d", "repos/a/-/b/c/-/d" },
	{ "a", "b", "c", "d", "a/b/c/d", NULL, "repos/a/-/b/-/c:d" },
	{ "a", "b", "c", "d/", "a/b/c/d/", NULL, "repos/a/-/b/-/c:d%2F" },

	{ "a", "b/c", "d", "e", "a/b/c/d/e", NULL, "repos/a/-/b/c/-/d:e" },
	{ "a", "b", "c", "d/e", "a/b/c/d/e", NULL, "repos/a/-/b/-/c:d%2Fe" },
	{ "a/b", "c", "d", "e", "a/b/c/d/e", NULL, "repos/a/b/-/c/-/d:e" },
	{ "a", "b/c/d", "e", "", "a/b/c/d/e/", "a/b/c/d/e", "repos/a/-/b/c/d/-/e" },

	{ "org/app", "infra", "default", "", "org/app/infra/default/", "org/app/infra/default",
	  "repos/org/app/-/infra/-/default" },
	{ "org/app/infra", ".", "default", "", "org/app/infra/./default/", "org/app/infra/./default",
	  "repos/org/app/infra/-/-/default" },
	{ "org/app-infra", ".", "default", "", "org/app-infra/./default/", "org/app-infra/./default",
	  "repos/org/app-infra/-/-/default" },
};
const size_t legacy_vectors_count = sizeof(legacy_vectors) / sizeof(legacy_vectors[0]);
