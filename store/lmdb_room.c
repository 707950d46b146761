/*
 * Room. Removing needs pages too, because LMDB writes changed pages anew. So blocks are allocated ahead of the last used
 * page, and room is called low as soon as what lies ahead plus what can be used again falls below a reserve: then whatever
 * adds is refused, and what removes still goes through, on a full disk too.
 */
#include "lmdb_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define MIB ((uint64_t)1024 * 1024)
#define MAP_START (16 * MIB)
#define LIMIT_STEP ((uint64_t)64 * 1024) /* a multiple of every page size */
#define RESERVE_MIN (MIB / 8)            /* and no less than 1/16 of the limit, up to RESERVE_USUAL */
#define RESERVE_USUAL MIB
#define RESERVE_MAX (256 * MIB)
#define RESERVE_PART 8 /* of what is used: the more there is, the more there is to remove */
#define CHUNK_MAX (64 * MIB)
#define LAYER_MAX 2048                 /* most that a layer may cost: all of it is gone through for each commit */
#define DISK_RETRY INT64_C(1000000000) /* ns between tries while the disk is full */

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static int64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static uint64_t limit_of(uint64_t max_bytes)
{
	uint64_t limit = max_bytes == 0 ? LMDB_LIMIT_MAX : clamp(max_bytes, LMDB_LIMIT_MIN, LMDB_LIMIT_MAX);

	return limit - limit % LIMIT_STEP;
}

static uint64_t round_up(uint64_t size)
{
	return (size + LIMIT_STEP - 1) / LIMIT_STEP * LIMIT_STEP;
}

size_t lmdb_map_start(uint64_t max_bytes, uint64_t file_size)
{
	uint64_t size = file_size > MAP_START ? file_size : MAP_START;
	uint64_t limit = limit_of(max_bytes);

	return (size_t)clamp(round_up(size), 0, limit);
}

/*
 * LMDB gives its old map up before it asks for the new one, and is left with none if there is no address space for that.
 * So it is tried beforehand.
 */
static bool map_fits(size_t size)
{
	void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map != MAP_FAILED && munmap(map, size) == 0;
}

int lmdb_map_grow(struct engine *engine)
{
	size_t size = engine->map_size < engine->map_limit / 2 ? engine->map_size * 2 : (size_t)engine->map_limit;

	if (size <= engine->map_size || !map_fits(size))
		return -ENOSPC;
	pthread_rwlock_wrlock(&engine->map_lock);
	mdb_txn_reset(engine->reader->txn);
	int rc = mdb_env_set_mapsize(engine->env, size);
	if (rc == 0)
		rc = mdb_txn_renew(engine->reader->txn);
	engine->reader->cursor_stale = true;
	engine->map_size = rc == 0 ? size : 0;
	pthread_rwlock_unlock(&engine->map_lock);
	return lmdb_errno(rc);
}

/* Readers that died keep the pages they saw from being used again: looked for whenever the store grows. */
static void readers_check(struct engine *engine)
{
	int dead;

	(void)mdb_reader_check(engine->env, &dead);
}

/* Gives the data file blocks up to `size`. What LMDB writes later goes into them, whatever else fills the disk. */
static void blocks_allocate(struct engine *engine, uint64_t size)
{
	mdb_filehandle_t fd;
	struct statvfs fs;

	if (mdb_env_get_fd(engine->env, &fd) != 0)
		return;
	int error = fallocate(fd, 0, 0, (off_t)size) == 0 ? 0 : errno;
	engine->disk_free = fstatvfs(fd, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
	/* A file system that cannot allocate ahead: all there is to go by is what it says is free. */
	if (error == EOPNOTSUPP && size > engine->allocated &&
	    engine->disk_free > size - engine->allocated + RESERVE_USUAL)
		error = 0;
	if (error == 0)
		engine->allocated = size;
	engine->disk_full_at = error == 0 ? 0 : clock_now();
}

/* What must be left at `end` bytes used so that everything can be removed. */
static uint64_t room_reserve(const struct engine *engine, uint64_t end)
{
	uint64_t least = clamp(engine->limit / 16, RESERVE_MIN, RESERVE_USUAL);

	return clamp(end / RESERVE_PART, least, RESERVE_MAX);
}

/* Bytes that a layer's cost stands for: a page, and its part of those above. */
static uint64_t write_cost(const struct engine *engine)
{
	return engine->page + engine->page / 8;
}

/* Keeps blocks for the reserve and a full layer ahead of `end`, and more at a time as the file grows. */
static void blocks_ahead(struct engine *engine, uint64_t end, uint64_t reserve)
{
	uint64_t needed = clamp(end + reserve, 0, engine->map_limit);
	uint64_t ahead = clamp(end + reserve + LAYER_MAX * write_cost(engine), 0, engine->map_limit);
	uint64_t wanted = clamp(ahead + clamp(end / 8, MIB, CHUNK_MAX), 0, engine->map_limit);

	if (engine->allocated >= ahead)
		return;
	if (engine->disk_full_at != 0 && clock_now() - engine->disk_full_at < DISK_RETRY)
		return;
	readers_check(engine);
	blocks_allocate(engine, wanted);
	if (engine->allocated < needed)
		blocks_allocate(engine, needed);
}

/*
 * Bytes in pages that LMDB can use again, counted no further than `enough`. LMDB lists them in its database 0: each value
 * is an array of page numbers behind its length.
 */
static uint64_t pages_reusable(struct engine *engine, uint64_t enough)
{
	MDB_cursor *cursor;
	MDB_val key;
	MDB_val value;
	uint64_t bytes = 0;
	int rc;

	struct lmdb_view *view = lmdb_view_take(engine, &rc);
	if (view == NULL)
		return 0;
	if (mdb_cursor_open(view->txn, 0, &cursor) == 0) {
		while (bytes < enough && mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
			size_t pages;

			memcpy(&pages, value.mv_data, sizeof(pages));
			bytes += (uint64_t)pages * engine->page;
		}
		mdb_cursor_close(cursor);
	}
	lmdb_view_give(engine, view);
	return bytes;
}

/* With room_lock held: `end` is where the last used page ends. */
static void room_look(struct engine *engine, uint64_t end)
{
	uint64_t reserve = room_reserve(engine, end);

	blocks_ahead(engine, end, reserve);
	uint64_t capacity = engine->allocated < engine->limit ? engine->allocated : engine->limit;
	uint64_t spare = capacity;
	if (capacity <= end + reserve)
		spare += pages_reusable(engine, 4 * reserve + (end > capacity ? end - capacity : 0));
	bool low = spare <= end + reserve;
	/* What is in the log must not need the reserve: that is for what removes. */
	uint64_t writes = low ? 0 : (spare - end - reserve) / write_cost(engine);
	atomic_store_explicit(&engine->layer_max, (size_t)clamp(writes, 0, LAYER_MAX), memory_order_relaxed);
	/* What the disk could still give is free, but it is not there yet. */
	if (engine->disk_full_at == 0)
		spare += clamp(engine->disk_free, 0, engine->limit - capacity);
	atomic_store_explicit(&engine->room_free, low ? 0 : spare - end - reserve, memory_order_relaxed);
	atomic_store_explicit(&engine->room_low, low, memory_order_relaxed);
}

void lmdb_room_update(struct engine *engine)
{
	MDB_envinfo info;

	pthread_mutex_lock(&engine->room_lock);
	if (engine->map_size != 0 && mdb_env_info(engine->env, &info) == 0) {
		uint64_t end = ((uint64_t)info.me_last_pgno + 1) * engine->page;

		atomic_store_explicit(&engine->room_used, end, memory_order_relaxed);
		if (!engine->readonly)
			room_look(engine, end);
	}
	pthread_mutex_unlock(&engine->room_lock);
}

void lmdb_room_init(struct engine *engine, uint64_t max_bytes)
{
	mdb_filehandle_t fd;
	MDB_envinfo info;
	struct stat st;

	engine->limit = limit_of(max_bytes);
	engine->map_limit = engine->limit;
	if (mdb_env_info(engine->env, &info) == 0) {
		uint64_t end = ((uint64_t)info.me_last_pgno + 1) * engine->page;

		engine->map_size = info.me_mapsize;
		/* What a crash left in the log is there too. */
		if (engine->layer != NULL)
			end += engine->layer->cost * write_cost(engine);
		/* A limit below what is there already must not keep anything from being removed. */
		if (end > engine->limit)
			engine->map_limit = round_up(end + room_reserve(engine, end));
	}
	/* The blocks it has stay its own, also on a disk that is full by now. */
	if (!engine->readonly && mdb_env_get_fd(engine->env, &fd) == 0 && fstat(fd, &st) == 0)
		blocks_allocate(engine, (uint64_t)st.st_size);
	engine->disk_full_at = 0;
	lmdb_room_update(engine);
}

bool lmdb_is_deleted(const struct engine *engine)
{
	struct stat st;
	int fd;

	if (lmdb_log_is_deleted(&engine->log))
		return true;
	return mdb_env_get_fd(engine->env, &fd) == 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* The disk may have got room again since it was full, and while adding is refused no commit comes along to notice. */
static void room_retry(struct engine *engine)
{
	if (pthread_mutex_trylock(&engine->room_lock) != 0)
		return;
	bool due = engine->disk_full_at != 0 && clock_now() - engine->disk_full_at >= DISK_RETRY;
	pthread_mutex_unlock(&engine->room_lock);
	if (due && pthread_rwlock_tryrdlock(&engine->map_lock) == 0) {
		lmdb_room_update(engine);
		pthread_rwlock_unlock(&engine->map_lock);
	}
}

void lmdb_room(struct engine *engine, struct store_room *out)
{
	if (atomic_load_explicit(&engine->room_low, memory_order_relaxed))
		room_retry(engine);
	out->used = atomic_load_explicit(&engine->room_used, memory_order_relaxed);
	out->free = atomic_load_explicit(&engine->room_free, memory_order_relaxed);
	out->low = atomic_load_explicit(&engine->room_low, memory_order_relaxed);
}
