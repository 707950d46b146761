# atlockfs. `make help` lists the targets; everything built goes below $(BUILD).
#
# Direction is enforced by include paths. store/ sees itself, core/ sees store/, and fs/ and tools/ see nothing of the
# project but the public headers, core/atlock.h and core/atlock/*.h. Inside a folder, a room (a subfolder) sees itself
# and the rooms that ROOMS_<folder> lists before it, but none that APART_<folder> sets apart from it. Sources are found
# by wildcard: a new file needs no line here, a new room needs a word.

BUILD ?= build
PREFIX ?= /usr/local
LIB ?= lib
SAN ?=
SEED ?= 1
STEPS ?= 200000
RUNS ?= 1000000
TIMES ?= 20
TARGETS ?= $(FUZZ_TARGETS)
POINTS ?= 300
FAULTS ?= 20
KIND ?= store
JOBS ?= $(shell nproc)
# Tests wait for clocks and disks: without JOBS= more of them run than processes of the compiler (tests/run).
TEST_JOBS := $(if $(filter file default undefined,$(origin JOBS)),,$(JOBS))
AGAIN ?= 0
MNT ?= mnt
STORE ?= var
V ?=
BENCH_FLAGS ?=

CC = $(if $(filter fuzz,$(SAN)),clang,gcc)
# Sanitizers find as much with less optimisation, and are built in less time.
CFLAGS ?= $(if $(SAN),-O1,-O2) -g
CLANG_TIDY = clang-tidy
CLANG_FORMAT = clang-format
CPPCHECK = cppcheck

ifneq ($(filter-out address thread fuzz,$(SAN)),)
$(error SAN is "address" (with undefined behaviour), "thread" or "fuzz", not "$(SAN)")
endif

# Only the outermost make sets the number of jobs; those it calls share its job slots.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(JOBS)
endif
MAKEFLAGS += --no-builtin-rules --no-builtin-variables --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:

OUT := $(BUILD)$(if $(SAN),/$(SAN))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# --- Flags ---

HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2
SAN_address := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_thread := -fsanitize=thread -fno-omit-frame-pointer
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

STD := -std=c17 -D_GNU_SOURCE -pthread
# The same sources are compiled without a sanitizer, too; with one gcc warns of what cannot be.
WARN := $(if $(SAN),,-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
MODE := $(if $(SAN),$(SAN_$(SAN)),$(HARDEN))

# The rooms of each folder, lowest first; "." is the folder itself. tests/rooms checks the symbols against the same lists.
ROOMS_store := base txn foreign engine log lmdb remote redis .
ROOMS_core := base record people names state table events text rules locks trees manager check import
ROOMS_fs := nodes request tree wire daemon
ROOMS_tools := cli client graph hold look top store audit atlantis bench serve .
# Rooms that do not see each other.
APART_fs := tree wire
APART_tools := hold look top store audit atlantis bench serve

# $(call until,ROOM,ROOMS): the rooms up to and including ROOM.
until = $(firstword $(2)) $(if $(filter-out $(1),$(firstword $(2))),$(call until,$(1),$(wordlist 2,$(words $(2)),$(2))))
folder = $(firstword $(subst /, ,$(1)))
# The room of a file: "." for core/x.c, "state" for core/state/x.c.
room = $(or $(patsubst %/,%,$(patsubst $(call folder,$(1))/%,%,$(dir $(1)))),.)
# Those that are apart from a room: if it is one of them, the others.
apart = $(if $(filter $(1),$(2)),$(filter-out $(1),$(2)))
rooms_seen = $(patsubst %,-I$(call folder,$(1))/%,$(filter-out $(call apart,$(call room,$(1)),$(APART_$(call folder,$(1)))),\
	$(call until,$(call room,$(1)),$(ROOMS_$(call folder,$(1))))))
every_room = $(foreach f,$(1),$(patsubst %,-I$(f)/%,$(ROOMS_$(f))))
sources = $(sort $(foreach r,$(ROOMS_$(1)),$(patsubst ./%,%,$(wildcard $(patsubst %/.,%,$(1)/$(r))/*.$(2)))))

# What each folder may include. pkg-config runs when a recipe does, after the packages have been installed.
system_flags = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(1)))
# The library's objects serve archive and shared library alike; calls among themselves stay as direct as without.
LIBRARY := -fPIC -fno-semantic-interposition
FLAGS_store = $(LIBRARY) $(call system_flags,lmdb libbsd libmd hiredis)
FLAGS_core = $(LIBRARY) -I$(OUT)/include -Istore -Istore/base -Istore/txn -Istore/foreign $(call system_flags,libbsd libmd jansson libsodium)
FLAGS_fs = -I$(OUT)/include $(call system_flags,fuse3 libbsd jansson)
FLAGS_tools = -I$(OUT)/include $(call system_flags,libbsd libmd jansson ncursesw libmicrohttpd)
FLAGS_tests = -I$(OUT)/include $(call every_room,core store tools) -Itests $(call every_room,fs) $(call system_flags,lmdb libbsd libmd jansson cmocka fuse3 hiredis libcurl)
LINK_bench_nullfs := fuse3
LINK_bench_goals := hiredis libcurl

CORE_PACKAGES := lmdb libbsd libmd jansson hiredis libsodium

flags = $(STD) $(WARN) $(CFLAGS) $(MODE) $(CPPFLAGS) $(rooms_seen) $(FLAGS_$(call folder,$(1)))
link = $(CC) $(STD) $(CFLAGS) $(MODE) -Wl,-z,relro,-z,now $(LDFLAGS) -o $(1) $(2) \
	$(shell pkg-config --libs $(CORE_PACKAGES) $(3)) $(LDLIBS)

# --- Files ---

objects = $(patsubst %.c,$(OUT)/obj/%.o,$(1))

STORE_C := $(call sources,store,c)
CORE := $(call sources,core,c)
FS := $(call sources,fs,c)
TOOLS := $(call sources,tools,c)
UNIT := $(sort $(wildcard tests/unit/test_*.c))
HELP := $(sort $(wildcard tests/*.c) $(filter-out $(UNIT),$(wildcard tests/unit/*.c)))
SIM := $(sort $(wildcard tests/sim/*.c))
CRASH := $(sort $(wildcard tests/crash/*.c))
CLUSTER := $(sort $(wildcard tests/cluster/test_*.c))
HOSTS := $(sort $(wildcard tests/hosts/*.c))
FUZZ := $(sort $(wildcard tests/fuzz/*.c))
BENCH_core := $(sort $(wildcard tests/bench/core*.c))
BENCH_nullfs := $(sort $(wildcard tests/bench/null*.c))
BENCH_cycle := $(patsubst %,tests/bench/%.c,cycle work_cycle procs)
BENCH_path := $(patsubst %,tests/bench/%.c,path core_side)
BENCH_goals := $(filter-out %/core.c %/cycle.c %/path.c $(BENCH_nullfs),$(sort $(wildcard tests/bench/*.c)))
BENCH_PROGRAMS := core nullfs cycle path goals
BENCH := $(sort $(foreach p,$(BENCH_PROGRAMS),$(BENCH_$(p))))
MOUNT_SYS := $(sort $(wildcard tests/mount/sys/*.c))
MOUNT_ALONE := $(sort $(wildcard tests/mount/*.c))
MOUNT := $(MOUNT_ALONE) $(MOUNT_SYS)
MOUNT_SCRIPTS := $(sort $(wildcard tests/mount/*/*.sh tests/hostile/*.sh))
TRACE := tests/trace/hook.c

SOURCES := $(STORE_C) $(CORE) $(FS) $(TOOLS) $(HELP) $(UNIT) $(SIM) $(CRASH) $(CLUSTER) $(HOSTS) $(FUZZ) $(BENCH) $(MOUNT) $(TRACE)
PUBLIC := core/atlock.h $(sort $(wildcard core/atlock/*.h))
HEADERS := $(sort $(PUBLIC) $(foreach f,store core fs tools,$(call sources,$(f),h)) $(wildcard tests/*.h tests/*/*.h tests/mount/sys/*.h))

LIBS := $(OUT)/libcore.a $(OUT)/libstore.a
PROGRAMS := $(OUT)/atlockfs $(OUT)/atlock
UNIT_PROGRAMS := $(patsubst tests/unit/%.c,$(OUT)/unit/%,$(UNIT))
CLUSTER_PROGRAMS := $(patsubst tests/cluster/test_%.c,$(OUT)/cluster/test_%,$(CLUSTER))
HOSTS_PROGRAMS := $(patsubst tests/hosts/%.c,$(OUT)/hosts_%,$(HOSTS))
SIM_PROGRAM := $(if $(SIM),$(OUT)/sim)
CRASH_PROGRAM := $(OUT)/crash
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(filter tests/fuzz/fuzz_%,$(FUZZ)))
FUZZ_PROGRAMS := $(FUZZ_TARGETS:%=$(OUT)/fuzz_%)
# What mount scripts call, without a sanitizer in every build: some scripts start it thousands of times.
MOUNT_PROGRAMS := $(BUILD)/mount-sys $(patsubst tests/mount/%.c,$(BUILD)/mount-%,$(MOUNT_ALONE))
BENCH_FILES := $(BENCH_PROGRAMS:%=$(OUT)/bench_%)
MANUALS := $(sort $(wildcard docs/*.[1-8]))

# --- Targets for people ---

.PHONY: all
all: $(LIBS) $(PROGRAMS) ## build the libraries and the programs (default)

.PHONY: help
help: ## list the targets and variables
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22
	@echo
	@echo '  BUILD=$(BUILD)  SAN=address|thread|fuzz  SEED=$(SEED)  STEPS=$(STEPS)  RUNS=$(RUNS)  TIMES=$(TIMES)  POINTS=$(POINTS)  FAULTS=$(FAULTS)  JOBS=$(JOBS)  AGAIN=$(AGAIN)  V=1'
	@echo '  MNT=$(MNT)  STORE=$(STORE)  PREFIX=$(PREFIX)  DESTDIR='

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(BUILD)

# --- Packages: Debian names, by what needs them ---

PACKAGES_build := gcc libc6-dev make pkg-config libfuse3-dev fuse3 liblmdb-dev libbsd-dev libmd-dev libjansson-dev \
	libhiredis-dev libsodium-dev libncurses-dev libmicrohttpd-dev
PACKAGES_test := libcmocka-dev attr jq passwd procps util-linux strace valgrind libcurl4-openssl-dev redis-server \
	redis-tools curl python3 faketime zsh fish prometheus prometheus-node-exporter lmdb-utils e2fsprogs \
	btrfs-progs xfsprogs iproute2 \
	python3-yaml systemd libxml2-utils tmux busybox nodejs rsync inotify-tools
PACKAGES_deb := build-essential debhelper lintian
PACKAGES_deb-check := debootstrap systemd-container
PACKAGES_cluster := stunnel4 openssl
PACKAGES_bench := etcd-server etcd-client
PACKAGES_page := chromium chromium-driver nodejs openssl
PACKAGES_fuzz := clang libclang-rt-dev
PACKAGES_lint := clang-tidy clang-format cppcheck mandoc
NEED := $(BUILD)/.packages-

# Each waits for the one before it, since only one apt can run at a time.
$(NEED)test: | $(NEED)build
$(NEED)lint: | $(NEED)test
$(NEED)bench: | $(NEED)test
$(NEED)cluster: | $(NEED)test
$(NEED)page: | $(NEED)test
$(NEED)deb: | $(NEED)build
$(NEED)deb-check: | $(NEED)deb
$(NEED)fuzz: | $(NEED)build
$(NEED)%: Makefile .ci/install-packages
	@.ci/install-packages $(PACKAGES_$*)
	@mkdir -p $(@D) && touch $@

.PHONY: deps
deps: ## install the Debian packages that building and checking need
	@.ci/install-packages $(PACKAGES_build) $(PACKAGES_test) $(PACKAGES_lint)

# --- Building ---

# The folder is a prerequisite so that a source file that went away leaves the archive too.
$(OUT)/libstore.a: $(call objects,$(STORE_C)) $(ROOMS_store:%=store/%)
$(OUT)/libcore.a: $(call objects,$(CORE)) $(ROOMS_core:%=core/%)
$(OUT)/libtest.a: $(call objects,$(HELP)) tests
$(OUT)/libtools.a: $(call objects,$(filter-out %/atlock.c,$(TOOLS))) $(ROOMS_tools:%=tools/%)
$(OUT)/libfs.a: $(call objects,$(filter-out %/main.c,$(FS))) $(ROOMS_fs:%=fs/%)
$(OUT)/lib%.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $(filter %.o,$^)

# The public header, under the names that other programs include it by.
$(OUT)/include: core/atlock.h
	$(Q)mkdir -p $@ && ln -sfn $(abspath core/atlock.h) $@/atlock.h && ln -sfn $(abspath core/atlock) $@/atlock
	$(Q)touch $@

$(call objects,$(HELP) $(UNIT) $(SIM) $(CRASH) $(CLUSTER) $(HOSTS) $(FUZZ) $(BENCH) $(MOUNT)): | $(NEED)test

$(OUT)/obj/%.o: %.c Makefile | $(NEED)build $(OUT)/include
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(call flags,$<) -MMD -MP -c -o $@ $<

$(OUT)/atlockfs: $(call objects,$(FS)) $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^,fuse3)

$(OUT)/atlock: $(call objects,$(TOOLS)) $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^,ncursesw libmicrohttpd)

# The assembler includes them.
$(OUT)/obj/tools/serve/serve_asset.o: $(wildcard tools/serve/page.* tools/serve/icon.svg tools/serve/openapi.json)

$(OUT)/unit/test_fs_%: $(OUT)/obj/tests/unit/test_fs_%.o $(OUT)/libtest.a $(OUT)/libfs.a $(LIBS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call link,$@,$^,cmocka fuse3)

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(OUT)/libtest.a $(OUT)/libtools.a $(LIBS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call link,$@,$^,cmocka)

$(OUT)/cluster/%: $(OUT)/obj/tests/cluster/%.o $(OUT)/libtest.a $(LIBS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call link,$@,$^,cmocka)

$(HOSTS_PROGRAMS): $(OUT)/hosts_%: $(OUT)/obj/tests/hosts/%.o $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^)

$(OUT)/sim: $(call objects,$(SIM)) $(OUT)/libtest.a $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^)

$(CRASH_PROGRAM): $(call objects,$(CRASH)) $(OUT)/libtest.a $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^)

# clang brings libFuzzer's main(); without it replay.c has one.
$(FUZZ_PROGRAMS): $(OUT)/fuzz_%: $(OUT)/obj/tests/fuzz/fuzz_%.o \
		$(call objects,tests/fuzz/input.c $(if $(filter fuzz,$(SAN)),,tests/fuzz/replay.c)) $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^) $(if $(filter fuzz,$(SAN)),-fsanitize=fuzzer)

$(BENCH_FILES): $(OUT)/bench_%: $$(call objects,$$(BENCH_$$*)) $(OUT)/libtest.a $(LIBS)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^,$(LINK_bench_$*))

$(OUT)/bench_goals: LDLIBS := -lm -lresolv

ifeq ($(SAN),)
$(BUILD)/mount-sys: $(call objects,$(MOUNT_SYS))
$(filter-out %-sys,$(MOUNT_PROGRAMS)): $(BUILD)/mount-%: $(BUILD)/obj/tests/mount/%.o
$(MOUNT_PROGRAMS):
	$(call say,LD,$@)
	$(Q)$(call link,$@,$^)
endif

.PHONY: mount-programs
mount-programs: $(if $(SAN),,$(MOUNT_PROGRAMS))
	$(if $(SAN),$(Q)$(MAKE) SAN= mount-programs,@:)

-include $(patsubst %.o,%.d,$(call objects,$(SOURCES)))

# --- Installing ---

# One object that shows nothing but the public headers' names, so that it can be linked with anything.
$(OUT)/libatlock.a: $(call objects,$(CORE) $(STORE_C)) $(ROOMS_core:%=core/%) $(ROOMS_store:%=store/%)
	$(call say,AR,$@)
	$(Q)ld -r -o $(@:.a=.o) $(filter %.o,$^)
	$(Q)objcopy --wildcard --keep-global-symbol='atlock_*' $(@:.a=.o)
	$(Q)rm -f $@ && ar rcs $@ $(@:.a=.o)

# The number in the name grows when a program that was linked with the one before would not run.
SONAME := libatlock.so.0
SHARED := -shared -Wl,-soname=$(SONAME) -Wl,--version-script=tools/packaging/atlock.map -Wl,-z,defs -Wl,--as-needed
$(OUT)/$(SONAME): $(call objects,$(CORE) $(STORE_C)) tools/packaging/atlock.map $(ROOMS_core:%=core/%) $(ROOMS_store:%=store/%)
	$(call say,LD,$@)
	$(Q)$(call link,$@,$(filter %.o,$^) $(SHARED))

.PHONY: libraries
libraries: $(OUT)/libatlock.a $(OUT)/$(SONAME) ## the lock manager for other programs, as an archive and shared

# What depends on where it is installed is written anew each time.
VERSION = $(shell sed -n 's/^\#define ATLOCK_VERSION "\(.*\)"/\1/p' core/atlock.h)
fill = mkdir -p $(OUT)/filled && sed 's|@PREFIX@|$(PREFIX)|; s|@BINDIR@|$(PREFIX)/bin|; s|@LIB@|$(LIB)|; s|@VERSION@|$(VERSION)|; \
	s|@REQUIRES@|$(CORE_PACKAGES)|' $(1) >$(OUT)/filled/$(notdir $(1))

# Completions by the shell's name.
COMPLETIONS := bash-completion/completions/atlock zsh/site-functions/_atlock fish/vendor_completions.d/atlock.fish
shell_of = $(firstword $(subst /, ,$(subst -, ,$(1))))

# Each is its source, where it goes below $(PREFIX), and its mode.
INSTALLED = $(foreach p,$(PROGRAMS),$(p):bin/$(notdir $(p)):755) \
	$(foreach m,$(MANUALS),$(m):share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m)):644) \
	$(foreach h,$(PUBLIC),$(h):include/$(h:core/%=%):644) $(OUT)/libatlock.a:$(LIB)/libatlock.a:644 \
	$(OUT)/$(SONAME):$(LIB)/$(SONAME):644 \
	$(OUT)/filled/atlock.pc:$(LIB)/pkgconfig/atlock.pc:644 \
	$(OUT)/filled/atlockfs.service:lib/systemd/system/atlockfs.service:644 \
	$(OUT)/filled/atlock-serve.service:lib/systemd/system/atlock-serve.service:644 \
	tools/packaging/systemd/atlock-serve.socket:lib/systemd/system/atlock-serve.socket:644 \
	tools/packaging/systemd/locks.mount:lib/systemd/system/locks.mount:644 \
	tools/packaging/systemd/atlockfs.sysusers:lib/sysusers.d/atlockfs.conf:644 \
	tools/packaging/systemd/atlockfs.tmpfiles:lib/tmpfiles.d/atlockfs.conf:644 \
	$(OUT)/filled/atlockfs.conf:share/atlockfs/atlockfs.conf:644 \
	docs/alerts.yml:share/atlockfs/alerts.yml:644 docs/grafana-dashboard.json:share/atlockfs/grafana-dashboard.json:644 \
	$(foreach c,$(COMPLETIONS),$(OUT)/filled/$(call shell_of,$(c)):share/$(c):644)
# What -latlock finds.
DEVLINK = $(LIB)/libatlock.so
part = $(word $(2),$(subst :, ,$(1)))

.PHONY: install
install: all libraries ## install everything below $(DESTDIR)$(PREFIX)
	$(Q)$(call fill,tools/packaging/atlock.pc) && $(call fill,tools/packaging/systemd/atlockfs.service) && $(call fill,tools/packaging/systemd/atlock-serve.service)
	$(Q)tools/packaging/commented-conf $(OUT)/atlockfs >$(OUT)/filled/atlockfs.conf
	$(Q)$(foreach c,$(COMPLETIONS),$(OUT)/atlock completion $(call shell_of,$(c)) >$(OUT)/filled/$(call shell_of,$(c)) &&) true
	$(Q)$(foreach i,$(INSTALLED),install -D -m $(call part,$(i),3) $(call part,$(i),1) \
		'$(DESTDIR)$(PREFIX)/$(call part,$(i),2)' &&) true
	$(Q)ln -sf $(SONAME) '$(DESTDIR)$(PREFIX)/$(DEVLINK)'

.PHONY: uninstall
uninstall: ## remove what install put there
	$(Q)rm -f $(foreach i,$(INSTALLED),'$(DESTDIR)$(PREFIX)/$(call part,$(i),2)') '$(DESTDIR)$(PREFIX)/$(DEVLINK)'

.PHONY: deb
deb: | $(NEED)deb ## build a Debian package into $(BUILD)
	$(Q)tools/packaging/debian/build $(abspath $(BUILD))/deb $(VERSION)

.PHONY: deb-check
deb-check: deb | $(NEED)deb-check ## install that package in a new Debian, use it, remove it, boot it; takes minutes and root
	$(Q)tests/install/deb $(abspath $(BUILD))/deb

# --- Trying it ---

define MOUNTED
Mounted on $(MNT); the locks are kept in $(STORE). Try, in a shell:

  PATH=$(abspath $(OUT)):$$PATH   # for the command atlock
  L=$(MNT)/repos/acme/infra/-/modules/vpc/-/production
  touch $$L                    # take a lock
  echo reason=upgrade >> $$L   # say what for
  cat $$L                      # see who has it, and until when
  rm $$L                       # let it go
  flock $$L sleep 5            # hold it for as long as a command runs; a second one waits

More is in $(MNT)/README. Unmount with: make unmount$(MNT_CHOSEN)$(if $(STORE_CHOSEN),
Mount it again with: make mount$(MNT_CHOSEN)$(STORE_CHOSEN))
endef
export MOUNTED
MNT_CHOSEN = $(if $(filter-out mnt,$(MNT)), MNT=$(MNT))
STORE_CHOSEN = $(if $(filter-out var,$(STORE)), STORE=$(STORE))

.PHONY: mount
mount: | $(NEED)build ## build, and mount on MNT= with the locks in STORE=
	+@tools/building BUILD='$(BUILD)' SAN='$(SAN)' $(OUT)/atlockfs $(OUT)/atlock
	@mkdir -p $(MNT)
	@$(OUT)/atlockfs --store $(STORE) $(MNT)
	@echo "$$MOUNTED"

.PHONY: unmount
unmount: ## unmount MNT=
	@tools/unmount '$(MNT)'

.PHONY: picture
picture: all ## draw docs/graph.svg, the picture of the README
	$(Q)tests/picture $(OUT) docs/graph.svg

# --- Checking ---

# Every test is a command of tests/run, which starts $(JOBS) at a time if that is given. tests/mount/one says what mount
# scripts need with a sanitizer.

# ThreadSanitizer of gcc 12 cannot map its shadow memory under much address randomisation.
runner_thread = $(shell setarch -R true 2>/dev/null && echo setarch -R)
runner = $(runner_$(notdir $(1)))
SIM_STEPS_address := 20000
SIM_STEPS_thread := 5000
HOSTILE_LONG := TEST_TIMEOUT=36000 TIME_FACTOR=30 ROUNDS=$(or $(ROUNDS),10000)

# Slow under ThreadSanitizer, and each has but one thread: only `make SAN=thread check` runs them with it.
ALONE_thread := $(if $(SAN),,$(patsubst %,tests/unit/test_%.c,bolt foreign lmdb_pages))

# The commands of one flavour of the tests: its output directory, the simulation's steps.
unit_commands = $(foreach t,$(filter-out $(ALONE_$(notdir $(1))),$(UNIT)),'$(strip $(call runner,$(1)) $(patsubst tests/unit/%.c,$(1)/unit/%,$(t)))')
sim_command = $(if $(SIM),'$(strip $(call runner,$(1)) $(1)/sim $(SEED) $(2))')
# Scripts about the runner itself are run with the plain build only.
mount_commands = $(foreach t,$(if $(filter address thread,$(notdir $(1))),$(filter-out tests/mount/runner/%,$(MOUNT_SCRIPTS)),$(MOUNT_SCRIPTS)),'tests/mount/one $(1) $(t)')
crash_command = '$(strip $(call runner,$(1)) $(1)/crash $(SEED))'
# The seeds, and changed copies of each.
fuzz_commands = $(foreach t,$(FUZZ_TARGETS),'$(1)/fuzz_$(t) $(SEED) $(if $(filter bolt,$(t)),20,2000) tests/fuzz/seeds/$(t)')
install_command = $(if $(SAN),,'tests/install/run $(OUT)')
bench_commands = $(if $(SAN),,'tests/bench/check $(OUT)' 'tests/bench/smoke $(OUT)')
SAN_TESTS := $(if $(SAN),,address thread)
# The slowest first.
CHECK_BUILDS := $(if $(SAN),,$(OUT)/thread $(OUT)/address) $(OUT)

.PHONY: programs
programs: $(if $(SAN),,libraries)
programs: all $(UNIT_PROGRAMS) $(SIM_PROGRAM) $(CRASH_PROGRAM) $(if $(SAN),,$(MOUNT_PROGRAMS)) $(if $(SAN),,$(BENCH_FILES)) \
	$(if $(filter address,$(SAN)),$(FUZZ_PROGRAMS))
	@:

# Beside tests, which wait a lot. What it needs is built before.
lint_command = $(if $(SAN),,'env -u MAKELEVEL MAKEFLAGS= make BUILD=$(BUILD) JOBS=2 lint')

# How long each stage took is shown at the end.
stage = tests/stage $(OUT)/stages

.PHONY: check
check: ## lint, unit tests, simulation, mounts, benchmark; also under sanitizers
	@mkdir -p $(OUT) && rm -f $(OUT)/stages
	@$(stage) packages $(MAKE) $(NEED)test $(if $(SAN),,$(NEED)lint)
	@$(stage) 'build, $(or $(SAN),plain)' $(MAKE) programs mount-programs $(if $(SAN),,rooms)
	@$(foreach s,$(SAN_TESTS),$(stage) 'build, $(s)' $(MAKE) SAN=$(s) programs &&) true
	@tests/users
	@JOBS=$(TEST_JOBS) AGAIN=$(AGAIN) $(stage) tests tests/run $(lint_command) \
		$(call sim_command,$(OUT),$(or $(SIM_STEPS_$(SAN)),$(STEPS))) $(bench_commands) $(call crash_command,$(OUT)) $(install_command) \
		$(foreach s,$(SAN_TESTS),$(call sim_command,$(OUT)/$(s),$(SIM_STEPS_$(s)))) \
		$(foreach b,$(CHECK_BUILDS),$(call unit_commands,$(b))) \
		$(if $(filter address,$(SAN) $(SAN_TESTS)),$(call fuzz_commands,$(BUILD)/address)) \
		$(foreach b,$(CHECK_BUILDS),$(call mount_commands,$(b))); status=$$?; cat $(OUT)/stages; exit $$status

# $(call listed,FOLDER): FOLDER=ROOM,ROOM; and those that are apart.
empty :=
comma := ,
commas = $(subst $(empty) $(empty),$(comma),$(strip $(1)))
listed = $(1)=$(call commas,$(ROOMS_$(1))) $(if $(APART_$(1)),--apart $(call commas,$(APART_$(1):%=$(1)/%)))

.PHONY: rooms
rooms: all ## who calls whom: rooms that call upward, and knots of files
	@tests/rooms $(OUT)/obj --apart fs,tools $(foreach f,store core fs tools,$(call listed,$(f)))

.PHONY: check-unit
check-unit: $(UNIT_PROGRAMS) ## the unit tests alone
	@JOBS=$(TEST_JOBS) tests/run $(call unit_commands,$(OUT))

.PHONY: check-mount
check-mount: all mount-programs ## the tests on real mounts alone: TESTS= names some of them
	@JOBS=$(TEST_JOBS) AGAIN=$(AGAIN) ATLOCKFS_BUILD=$(OUT) tests/mount/run $(foreach t,$(TESTS),'$(t)')

.PHONY: check-cluster
check-cluster: $(CLUSTER_PROGRAMS) | $(NEED)cluster ## realms in a cluster of Redis, behind Sentinels, and behind TLS: own servers on the loopback
	@JOBS=$(TEST_JOBS) tests/run $(foreach p,$(CLUSTER_PROGRAMS),'$(strip $(call runner,$(OUT)) $(p))') $(if $(SAN),,'tests/cluster/tls $(OUT)')

.PHONY: check-hosts
check-hosts: all $(HOSTS_PROGRAMS) | $(NEED)test ## three hosts on one Redis, each in a network namespace, with faults, as root: FAULTS= SEED= KIND=store
	@tests/hosts/run $(OUT) $(FAULTS) $(SEED) $(KIND)

.PHONY: check-hostile hostile
check-hostile: ## the attacks of tests/hostile alone, in short form
	@$(MAKE) check-mount TESTS='hostile/*'
hostile: all mount-programs ## the same in long form: ROUNDS=
	@JOBS=$(TEST_JOBS) ATLOCKFS_BUILD=$(OUT) $(HOSTILE_LONG) tests/mount/run 'hostile/*'

# Built apart, with a call at each function's begin and end. At this optimization gcc sees less, and warns of more.
.PHONY: trace trace-hook
trace: ## how many functions and files of the daemon a touch, rm, wait, ls, tail, flock and atlock run go through
	$(Q)$(MAKE) BUILD=$(BUILD)/trace trace-hook
	$(Q)$(MAKE) BUILD=$(BUILD)/trace CFLAGS='-O1 -g -fno-inline -finstrument-functions -Wno-format-truncation' \
		LDLIBS=$(BUILD)/trace/hook.o $(BUILD)/trace/atlockfs $(BUILD)/trace/atlock
	@tests/trace/run $(BUILD)/trace
trace-hook: $(OUT)/obj/tests/trace/hook.o
	$(Q)cp $< $(OUT)/hook.o

.PHONY: soak
soak: all mount-programs $(SIM_PROGRAM) ## mounts and attacks so many times in a row, none run again, each with a simulation: TIMES= SEED= STEPS=
	@for i in $$(seq $(TIMES)); do \
		$(call runner,$(OUT)) $(OUT)/sim $$(($(SEED) + i)) $(STEPS) >$(OUT)/soak.log 2>&1 || { cat $(OUT)/soak.log; exit 1; }; \
		JOBS=$(TEST_JOBS) ATLOCKFS_BUILD=$(OUT) tests/mount/run >$(OUT)/soak.log 2>&1 || \
			{ grep -v '^ok' $(OUT)/soak.log; exit 1; }; \
		echo "$$i of $(TIMES): $$(tail -n 1 $(OUT)/soak.log)"; \
	done

NPM := $(abspath $(BUILD))/npm/node_modules
$(NPM)/.installed: Makefile
	$(Q)npm install --silent --no-audit --no-fund --prefix $(BUILD)/npm axe-core@4 @apidevtools/swagger-parser@13
	$(Q)touch $@

.PHONY: check-page
check-page: all mount-programs $(NPM)/.installed | $(NEED)page ## atlock serve in a real browser, with pictures of it in $(BUILD)/page; behind proxies
	@tests/users
	@mkdir -p $(BUILD)/page && chmod 777 $(BUILD)/page
	@node tests/page/validate.js $(NPM)/@apidevtools/swagger-parser tools/serve/openapi.json
	@AXE=$(NPM)/axe-core/axe.min.js PICTURES=$(abspath $(BUILD))/page tests/run 'tests/mount/one $(OUT) tests/page/page.sh'
	@cat $(BUILD)/page/figures
	@tests/run 'tests/mount/one $(OUT) tests/page/proxies.sh'

.PHONY: page-pictures
page-pictures: check-page ## draw the pictures of the page in docs/ anew
	$(Q)cp $(PAGE_PICTURES:%=$(BUILD)/page/page-%.png) docs/
PAGE_PICTURES := light dark narrow many

.PHONY: check-install
check-install: all libraries | $(NEED)test ## what make install puts there: programs, manuals, library, units
	@tests/install/run $(OUT)

.PHONY: sim
sim: $(SIM_PROGRAM) ## the simulation: SEED= STEPS=
	$(call runner,$(OUT)) $(OUT)/sim $(SEED) $(STEPS)

.PHONY: crash
crash: $(CRASH_PROGRAM) ## power cuts: what they may leave of the store, opened: SEED= POINTS=
	$(call runner,$(OUT)) $(CRASH_PROGRAM) $(SEED) $(POINTS)

.PHONY: fuzz fuzz-programs
fuzz: | $(NEED)fuzz ## every parser with inputs that coverage chooses, some minutes each: RUNS= TARGETS= (FUZZ_FLAGS= for libFuzzer)
	$(Q)$(MAKE) SAN=fuzz fuzz-programs
	@tests/run $(foreach t,$(TARGETS),'tests/fuzz/run $(BUILD)/fuzz $(t) $(RUNS) $(FUZZ_FLAGS)')
fuzz-programs: $(FUZZ_PROGRAMS)
	@:

.PHONY: pjdfstest
pjdfstest: all ## the standard suite below custom/, as root: PJDFSTEST=<built tree>
	@ATLOCKFS_BUILD=$(OUT) tests/pjdfstest/run

.PHONY: bench-programs
bench-programs: all $(BENCH_FILES) mount-programs
	@:

# The run's tables go into the document that explains them, with the chart beside it.
.PHONY: bench
bench: bench-programs | $(NEED)bench ## every figure of the goals, also against Redis and etcd: BENCH_JSON=
	@BENCH_JSON=$(or $(BENCH_JSON),$(OUT)/bench.json) $(OUT)/bench_goals -p -c docs/bench.svg $(BENCH_FLAGS) $(OUT) \
		>$(OUT)/bench.md || \
		{ cat $(OUT)/bench.md; exit 1; }
	@cat $(OUT)/bench.md
	@tests/bench/publish $(OUT)/bench.md docs/PERFORMANCE.md

.PHONY: bench-quick
bench-quick: bench-programs ## the same in a minute, smaller, without Redis and etcd
	@$(OUT)/bench_goals -s quick $(OUT)

.PHONY: bench-compare
bench-compare: all ## what users feel of other builds and this one, side by side: AGAINST="<build> ..." ON=<directory>
	@tests/bench/compare $(or $(ON),$(OUT)) $(AGAINST) $(OUT)

.PHONY: bench-check bench-budget
bench-check: $(OUT)/bench_path ## instructions of an acquire, a release, a join and a grant against tests/bench/budget
	@tests/bench/check $(OUT)
bench-budget: $(OUT)/bench_path ## make what they are now the budget
	@tests/bench/check $(OUT) --write

.PHONY: bench-core
bench-core: $(OUT)/bench_core ## the core alone against bare LMDB
	$(OUT)/bench_core $(OUT)

# --- Linting: a stamp for each file, renewed when the file, a header it includes or the rules change ---

# cppcheck reads no system headers but those that define loops. Null pointers are left to clang's analyzer, which follows
# the conditions; where a variable is declared, to the writer.
BSD_LOOPS = $(wildcard /usr/include/bsd/sys/queue.h /usr/include/bsd/sys/tree.h)
CPPCHECK_FLAGS = --quiet --std=c11 --enable=style,warning,performance,portability --inline-suppr \
	--error-exitcode=1 $(patsubst %,--suppress=%,missingIncludeSystem nullPointer variableScope unusedStructMember) \
	$(patsubst %,--include=%,$(BSD_LOOPS)) -D_GNU_SOURCE

# How many states clang's analyzer looks at in a function: its default of 225000 takes three times as long for the few that have as many.
NODES ?= 75000

stamps = $(patsubst %,$(OUT)/lint/%,$(1))

.PHONY: lint
lint: $(call stamps,$(SOURCES) $(HEADERS)) | $(NEED)lint ## clang-tidy, cppcheck, formatting, layers, lone headers, manuals, alert rules
	$(Q)tests/check-includes
	$(Q)tests/check-folders
	$(Q)tests/check-design
	$(Q)! grep -nE '[^|]\| *grep -[a-zA-Z]*q' tests/*/*.sh tests/mount/*/*.sh tests/*/*.inc tests/install/* || \
		{ echo 'under pipefail: | grep ... >/dev/null, for -q may end the writer with SIGPIPE'; false; }
	$(Q)$(if $(MANUALS),mandoc -Tlint -Wwarning $(MANUALS))
	$(Q)promtool check rules docs/alerts.yml >/dev/null && promtool test rules tests/alerts-test.yml >/dev/null
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(SOURCES) $(HEADERS) || { echo 'not formatted: make format'; false; }

$(OUT)/lint/%.c: %.c $(OUT)/obj/%.o .clang-tidy | $(NEED)lint
	$(call say,LINT,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG_TIDY) --quiet $< -- $(filter-out -fsanitize% -fno-sanitize%,$(call flags,$<)) \
		-Xclang -analyzer-config -Xclang max-nodes=$(NODES) >$@ 2>&1 || \
		{ grep -v 'warnings generated' $@; rm $@; exit 1; }
	$(Q)$(CPPCHECK) $(CPPCHECK_FLAGS) $(filter -I%,$(call flags,$<)) $<
	$(Q)touch $@

# A header must bring what it needs.
$(OUT)/lint/%.h: %.h $(HEADERS) | $(NEED)test $(OUT)/include
	$(call say,HEADER,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(call flags,$<) -fsyntax-only -x c $<
	$(Q)touch $@

.PHONY: hooks
hooks: ## let git check what is staged before each commit: .ci/hooks
	git config core.hooksPath .ci/hooks

.PHONY: format
format: | $(NEED)lint ## rewrite the sources in the project's format
	$(CLANG_FORMAT) -i $(SOURCES) $(HEADERS)
