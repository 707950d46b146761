/* atlock doctor: looks at everything a mount needs, and says what is wrong and what to do about it. */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atlock.h>

#include "choice.h"
#include "look_commands.h"
#include "mount.h"
#include "term.h"

#define KERNEL_MAJOR 5 /* pidfds that can be polled, and what the tests run on */
#define KERNEL_MINOR 4
#define ROOM_LEAST (64ULL << 10) /* KiB */

enum verdict { GOOD, ODD, BAD };

struct doctor {
	struct tool *tool;
	struct mount mount; /* fd -1: there is none to look at */
	bool bad;
};

static const struct {
	const char *word;
	enum term_color color;
} verdicts[] = {
	[GOOD] = { "ok", TERM_GREEN },
	[ODD] = { "odd", TERM_YELLOW },
	[BAD] = { "bad", TERM_RED },
};

__attribute__((format(printf, 4, 5))) static void say(struct doctor *doctor, enum verdict verdict, const char *about,
						      const char *format, ...)
{
	va_list list;

	doctor->bad = doctor->bad || verdict == BAD;
	printf("%s%-4s%s %-12s ", term_color(stdout, verdicts[verdict].color), verdicts[verdict].word,
	       term_color(stdout, TERM_PLAIN), about);
	va_start(list, format);
	term_vprint(stdout, format, list);
	va_end(list);
	putchar('\n');
}

static void look_kernel(struct doctor *doctor)
{
	struct utsname name;
	char *rest;
	long major;
	long minor;

	uname(&name);
	major = strtol(name.release, &rest, 10);
	minor = rest[0] == '.' ? strtol(rest + 1, NULL, 10) : 0;
	if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		say(doctor, BAD, "kernel", "Linux %s is too old: %d.%d is needed", name.release, KERNEL_MAJOR,
		    KERNEL_MINOR);
	else
		say(doctor, GOOD, "kernel", "Linux %s", name.release);
}

static void look_fuse(struct doctor *doctor)
{
	struct stat st = { .st_mode = 0666 };

	(void)stat("/dev/fuse", &st);
	if (access("/dev/fuse", F_OK) != 0)
		say(doctor, BAD, "fuse", "/dev/fuse is missing: modprobe fuse, or give the container that device");
	else if (access("/dev/fuse", R_OK | W_OK) != 0)
		say(doctor, BAD, "fuse",
		    "/dev/fuse may not be opened by you (mode %03o): chmod 666 /dev/fuse as root, as distributions do",
		    st.st_mode & 0777U);
	else if ((st.st_mode & 0666) != 0666)
		say(doctor, ODD, "fuse",
		    "/dev/fuse is not for every user (mode %03o), so that others cannot mount: chmod 666 /dev/fuse",
		    st.st_mode & 0777U);
	else
		say(doctor, GOOD, "fuse", "/dev/fuse");
}

static bool in_path(const char *program)
{
	const char *given = getenv("PATH");
	char *path = strdup(given != NULL ? given : "/usr/bin:/bin");
	char *left = path;
	const char *dir;
	char file[PATH_MAX];
	bool found = false;

	while (!found && (dir = strsep(&left, ":")) != NULL) {
		(void)snprintf(file, sizeof(file), "%s/%s", dir, program);
		found = access(file, X_OK) == 0;
	}
	free(path);
	return found;
}

static void look_programs(struct doctor *doctor)
{
	if (in_path("fusermount3"))
		say(doctor, GOOD, "programs", "fusermount3");
	else
		say(doctor, geteuid() == 0 ? ODD : BAD, "programs",
		    "fusermount3 is not in PATH: install fuse3, without which users cannot mount");
}

static void look_mount(struct doctor *doctor)
{
	if (mount_open(doctor->tool, &doctor->mount) == EXIT_DONE) {
		say(doctor, GOOD, "mount", "%s", doctor->mount.path);
		return;
	}
	doctor->mount.fd = -1;
	fflush(stderr);
	say(doctor, BAD, "mount",
	    "none that answers, as said above: unmount a dead one, or make one with atlockfs --store DIR MOUNTPOINT");
}

static void look_version(struct doctor *doctor)
{
	FILE *file = mount_read(&doctor->mount, "metrics/atlockfs.prom");
	char line[512];
	char version[64] = "";

	while (file != NULL && version[0] == '\0' && fgets(line, sizeof(line), file) != NULL)
		(void)sscanf(line, "atlockfs_build_info{version=\"%63[^\"]", version);
	if (file != NULL)
		fclose(file);
	if (strcmp(version, ATLOCK_VERSION) == 0)
		say(doctor, GOOD, "version", "%s", version);
	else
		say(doctor, ODD, "version", "the daemon is %s and this is " ATLOCK_VERSION ": unmount, and mount again",
		    version[0] != '\0' ? version : "of another version");
}

static void look_health(struct doctor *doctor)
{
	char line[256];

	mount_line(&doctor->mount, "health", line, sizeof(line));
	if (strcmp(line, "ok") == 0)
		say(doctor, GOOD, "health", "ok");
	else
		say(doctor, BAD, "health", "%s: see %s/health", line[0] != '\0' ? line : "not to be read",
		    doctor->mount.path);
}

/* Takes a lock that no other program uses, and releases it. */
static void look_locking(struct doctor *doctor)
{
	char path[64];
	char why[512];
	int err;

	(void)snprintf(path, sizeof(path), "global/doctor-%jd@doctor", (intmax_t)getpid());
	err = mount_try(&doctor->mount, path, O_CREAT | O_EXCL);
	if (err < 0) {
		mount_why(&doctor->mount, why, sizeof(why));
		say(doctor, BAD, "locking", "%s: %s", strerror(-err), why);
		return;
	}
	if (unlinkat(doctor->mount.fd, path, 0) != 0)
		say(doctor, BAD, "locking", "taken but not given back: %s: %s", path, strerror(errno));
	else
		say(doctor, GOOD, "locking", "a lock can be taken and given back");
}

static bool mount_has(const struct mount *mount, const char *option)
{
	FILE *table = fopen("/proc/self/mounts", "re");
	char wanted[PATH_MAX + 32];
	char line[PATH_MAX + 512];
	bool found = false;

	(void)snprintf(wanted, sizeof(wanted), " %s fuse.atlockfs ", mount->path);
	while (table != NULL && fgets(line, sizeof(line), table) != NULL)
		if (strstr(line, wanted) != NULL)
			found = strstr(line, option) != NULL;
	if (table != NULL)
		fclose(table);
	return found;
}

static void look_permissions(struct doctor *doctor)
{
	if (mount_has(&doctor->mount, "allow_other"))
		say(doctor, GOOD, "permissions", "every user may use the mount");
	else
		say(doctor, ODD, "permissions",
		    "only who mounted it can use it: mount as root, or with user_allow_other in /etc/fuse.conf");
}

/* The store says how much can be written: on a full disk it reuses free pages of its file. */
static void look_room(struct doctor *doctor, const char *store)
{
	char value[32] = "";
	char level[16] = "";
	unsigned long long room;
	bool full;

	if (!mount_value(&doctor->mount, "health", "store_free", value, sizeof(value)))
		return;
	room = strtoull(value, NULL, 10) >> 10;
	(void)mount_value(&doctor->mount, "health", "room", level, sizeof(level));
	full = strcmp(level, "ok") != 0;
	if (full || room < ROOM_LEAST)
		say(doctor, full ? BAD : ODD, "store", "%s: room for %llu KiB more before locks are refused: %s", store,
		    room, "make room on its disk, release locks, or archive events (atlock help audit)");
	else
		say(doctor, GOOD, "store", "%s, room for %llu MiB more", store, room >> 10);
}

static void look_store(struct doctor *doctor)
{
	char store[PATH_MAX];
	struct stat st;

	mount_line(&doctor->mount, "config/store", store, sizeof(store));
	if (store[0] == '\0' || stat(store, &st) != 0)
		say(doctor, ODD, "store", "%s: %s", store[0] != '\0' ? store : "config/store",
		    errno == EACCES ? "not for you to see; ask root" : strerror(errno));
	else if ((st.st_mode & 077) != 0)
		say(doctor, ODD, "store", "%s: others may look into it: chmod 700", store);
	else
		look_room(doctor, store);
}

static void look_clock(struct doctor *doctor)
{
	struct timex timex = { .modes = 0 };
	int state = adjtimex(&timex);

	if (state < 0 || state == TIME_ERROR || (timex.status & STA_UNSYNC) != 0)
		say(doctor, ODD, "clock",
		    "not synchronised: leases do not mind, but times shown and the audit log do; run an NTP client");
	else
		say(doctor, GOOD, "clock", "synchronised");
}

static void doctor_look_mount(struct doctor *doctor)
{
	look_mount(doctor);
	if (doctor->mount.fd < 0)
		return;
	look_version(doctor);
	look_health(doctor);
	look_permissions(doctor);
	look_store(doctor);
	look_locking(doctor);
	mount_close(&doctor->mount);
}

/* The mount that is named or that the caller is in; else every one there is. */
static void doctor_look(struct doctor *doctor)
{
	struct tool *tool = doctor->tool;
	const char *given = tool->mount != NULL ? tool->mount : getenv("ATLOCKFS");
	char **list = given != NULL && given[0] != '\0' ? NULL : mount_list();

	look_kernel(doctor);
	look_fuse(doctor);
	look_programs(doctor);
	look_clock(doctor);
	if (list == NULL || list[0] == NULL)
		doctor_look_mount(doctor);
	for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
		tool->mount = list[i];
		doctor_look_mount(doctor);
	}
	tool->mount = given;
	mount_list_free(list);
}

int cmd_doctor(struct tool *tool, int argc, char **argv)
{
	struct doctor doctor = { .tool = tool, .mount = { .fd = -1 } };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, NULL, NULL);

	if (code >= 0)
		return code;
	doctor_look(&doctor);
	return doctor.bad ? EXIT_REFUSED : EXIT_DONE;
}
