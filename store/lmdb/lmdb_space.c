/*
 * Space. Removing needs pages too, because LMDB writes changed pages anew. So blocks are allocated ahead of the last used
 * page, and space is called low as soon as what lies ahead plus what can be used again falls below a reserve: then whatever
 * adds is refused, and what removes still goes through, on a full disk too.
 *
 * Reusable pages count whether or not a reader still needs them. A transaction of LMDB may therefore find fewer pages
 * than there are; lmdb_commit() handles that. What is in the log never needs more than there are.
 */
#include "lmdb_space.h"

#include "engine_time.h"
#include "layer.h"
#include "lmdb_engine.h"
#include "lmdb_error.h"
#include "lmdb_pages.h"
#include "lmdb_readers.h"
#include "lmdb_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MIB ((uint64_t)1024 * 1024)
#define MAP_START (16 * MIB)
#define LIMIT_STEP ((uint64_t)64 * 1024) /* a multiple of every page size */
#define RESERVE_MIN (MIB / 8)            /* and no less than 1/8 of the limit, up to RESERVE_USUAL */
#define RESERVE_USUAL (4 * MIB)
#define RESERVE_MAX (256 * MIB)
#define RESERVE_PART 8 /* of what is used: the more there is, the more there is to remove */
#define CHUNK_MAX (64 * MIB)
#define DISK_RETRY INT64_C(1000000000) /* ns between tries while the disk is full */

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
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
	bool held = engine->map_held;
	if (!held)
		lmdb_readers_stop(engine);
	mdb_txn_reset(engine->reader->txn);
	int rc = mdb_env_set_mapsize(engine->env, size);
	if (rc == 0)
		rc = mdb_txn_renew(engine->reader->txn);
	engine->reader->cursor_stale = true;
	engine->map_size = rc == 0 ? size : 0;
	if (rc != 0)
		atomic_store_explicit(&engine->dead, true, memory_order_relaxed);
	if (!held)
		lmdb_readers_go(engine);
	return lmdb_errno(rc);
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
	/* A file system that cannot allocate ahead: trust the free space that it reports. */
	if (error == EOPNOTSUPP && size > engine->allocated &&
	    engine->disk_free > size - engine->allocated + RESERVE_USUAL)
		error = 0;
	if (error == 0 && size > engine->allocated)
		engine->allocated = size;
	engine->disk_full_at = error == 0 ? 0 : engine_time(CLOCK_MONOTONIC_COARSE);
}

/* What must be left at `end` bytes used so that everything can be removed. */
static uint64_t space_reserve(const struct engine *engine, uint64_t end)
{
	uint64_t least = clamp(engine->limit / 8, RESERVE_MIN, RESERVE_USUAL);

	return clamp(end / RESERVE_PART, least, RESERVE_MAX);
}

/*
 * Keeps blocks for the reserve and a full layer ahead of `end`, and more at a time as the file grows. On a
 * nearly full disk it tries half as many, then half of that.
 */
static void blocks_ahead(struct engine *engine, uint64_t end, uint64_t reserve, uint64_t layer)
{
	uint64_t needed = clamp(end + reserve, 0, engine->map_limit);
	uint64_t ahead = clamp(end + reserve + layer, 0, engine->map_limit);
	uint64_t wanted = clamp(ahead + clamp(end / 8, MIB, CHUNK_MAX), 0, engine->map_limit);

	if (engine->allocated < ahead &&
	    (engine->disk_full_at == 0 || engine_time(CLOCK_MONOTONIC_COARSE) - engine->disk_full_at >= DISK_RETRY)) {
		uint64_t more = wanted - needed;
		blocks_allocate(engine, wanted);
		while (engine->disk_full_at != 0 && more > 0) {
			more = more > LIMIT_STEP ? more / 2 : 0;
			blocks_allocate(engine, needed + more);
		}
		if (engine->allocated < ahead)
			engine->disk_full_at = engine_time(CLOCK_MONOTONIC_COARSE);
	}
	atomic_store_explicit(&engine->space_tight, engine->allocated < ahead, memory_order_relaxed);
}

/* What LMDB's tree is like, as its newest transaction has it. map_lock held shared, or by the leader, as the next. */
static void shape_look(struct engine *engine, struct lmdb_shape *out)
{
	MDB_stat tree;
	MDB_stat list;
	int rc;

	memset(out, 0, sizeof(*out));
	struct lmdb_view *view = lmdb_view_take(engine, &rc);
	if (view == NULL)
		return;
	if (mdb_stat(view->txn, engine->dbi, &tree) == 0 && mdb_stat(view->txn, 0, &list) == 0) {
		out->leaves = tree.ms_leaf_pages;
		out->branches = tree.ms_branch_pages;
		out->overflow = tree.ms_overflow_pages;
		out->depth = tree.ms_depth;
		out->list_pages = list.ms_leaf_pages + list.ms_branch_pages;
		out->list_depth = list.ms_depth;
	}
	lmdb_view_give(engine, view);
}

/*
 * Counts the free pages, as far as `enough`. LMDB lists them in its database 0, by the transaction that gave them up: an array of numbers
 * behind its length.
 */
static void shape_count(struct engine *engine, struct lmdb_shape *shape, uint64_t enough)
{
	MDB_cursor *cursor;
	MDB_val key;
	MDB_val value;
	int rc;

	shape->free = 0;
	shape->later = 0;
	struct lmdb_view *view = lmdb_view_take(engine, &rc);
	if (view == NULL)
		return;
	if (mdb_cursor_open(view->txn, 0, &cursor) == 0) {
		/* There is no more than one record for each page. */
		for (uint64_t i = 0; i <= shape->pages && shape->free < enough; i++) {
			size_t given_up_by;
			size_t pages;

			if (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) != 0 || key.mv_size < sizeof(given_up_by) ||
			    value.mv_size < sizeof(pages))
				break;
			memcpy(&given_up_by, key.mv_data, sizeof(given_up_by));
			memcpy(&pages, value.mv_data, sizeof(pages));
			*(given_up_by < mdb_txn_id(view->txn) ? &shape->free : &shape->later) += pages;
		}
		mdb_cursor_close(cursor);
	}
	lmdb_view_give(engine, view);
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * With look_lock held, and not space_lock: blocks may take their time, and commits must not wait for them. `end` is where the
 * last used page ends.
 */
static void space_look(struct engine *engine, struct space *space, uint64_t end)
{
	/* A full layer, half of it while the other half is LMDB's already. */
	static const struct lmdb_put half = { .writes = LAYER_MAX / 2 };
	uint64_t page = engine->page;

	shape_look(engine, &space->shape);
	space->shape.pages = end / page;
	space->promised = atomic_load_explicit(&engine->promised, memory_order_relaxed);
	uint64_t least = space_reserve(engine, end);
	uint64_t reserve = least + space->promised;
	uint64_t layer = lmdb_pages_needed_twice(&space->shape, page, &half, &half).pages * page;
	blocks_ahead(engine, end, reserve, layer);
	/* LMDB leaves the last page of its map unused. */
	uint64_t capacity = clamp(engine->allocated, 0, engine->limit - page);
	if (capacity < end + reserve + layer)
		shape_count(engine, &space->shape, (4 * reserve + layer + beyond(end, capacity)) / page);
	uint64_t spare = capacity + space->shape.free * page;

	space->ahead = beyond(capacity, end) / page;
	space->beyond_reserve = beyond(spare, end + reserve) / page;
	space->all = beyond(clamp(engine->allocated, 0, engine->map_limit - page), end) / page + space->shape.free;
	bool low = space->beyond_reserve == 0;
	space->turn = low && spare + space->shape.later * page > end + reserve;
	bool scarce = spare < end + least / 2 + space->promised;
	/* What the disk could still give is free, but it is not there yet. */
	if (engine->disk_full_at == 0)
		spare += clamp(engine->disk_free, 0, engine->limit - capacity);
	atomic_store_explicit(&engine->space_free, low ? 0 : spare - end - reserve, memory_order_relaxed);
	atomic_store_explicit(&engine->space_size,
			      engine->disk_full_at != 0 ? capacity
							: clamp(capacity + engine->disk_free, 0, engine->limit),
			      memory_order_relaxed);
	atomic_store_explicit(&engine->space_scarce, scarce, memory_order_relaxed);
	atomic_store_explicit(&engine->space_low, low, memory_order_relaxed);
}

/* What was promised since the last look is not for others any more. With space_lock held. */
static bool need_fits(const struct engine *engine, const struct lmdb_need *need)
{
	const struct space *space = &engine->space;
	uint64_t promised = atomic_load_explicit(&engine->promised, memory_order_relaxed);
	uint64_t pages = (beyond(promised, space->promised) + engine->page - 1) / engine->page;

	return need->pages + pages <= space->beyond_reserve && need->run <= space->ahead;
}

/* For a layer, and for so many writes that come after it. With space_lock held. */
static struct lmdb_need need_of_two(const struct engine *engine, const struct layer *layer, uint64_t writes,
				    uint64_t overflow)
{
	struct lmdb_put first = { .writes = layer->writes.count, .overflow = layer->overflow };
	struct lmdb_put second = { .writes = writes, .overflow = overflow };

	return lmdb_pages_needed_twice(&engine->space.shape, engine->page, &first, &second);
}

bool lmdb_space_fits(struct engine *engine, const struct layer *layer)
{
	const struct space *space = &engine->space;

	pthread_mutex_lock(&engine->space_lock);
	struct lmdb_need need = lmdb_pages_needed(&space->shape, engine->page, layer_count(layer),
						  layer_overflow(layer));
	bool fits = need_fits(engine, &need);
	if (fits && layer->frozen != NULL) {
		need = need_of_two(engine, layer->frozen, layer->writes.count, layer->overflow);
		fits = need_fits(engine, &need);
	}
	pthread_mutex_unlock(&engine->space_lock);
	return fits;
}

bool lmdb_space_is_ample(struct engine *engine, const struct layer *layer)
{
	const struct space *space = &engine->space;
	uint64_t count = layer->writes.count;

	pthread_mutex_lock(&engine->space_lock);
	struct lmdb_need all = need_of_two(engine, layer, beyond(LAYER_MAX, count), layer->overflow);
	struct lmdb_need own = lmdb_pages_needed(&space->shape, engine->page, count, layer->overflow);
	uint64_t mapped = beyond(engine->map_size / engine->page, space->shape.pages + 1);
	bool ample = need_fits(engine, &all) && own.pages <= space->ahead && own.pages <= mapped &&
		     !atomic_load_explicit(&engine->space_low, memory_order_relaxed) &&
		     !atomic_load_explicit(&engine->space_tight, memory_order_relaxed);
	pthread_mutex_unlock(&engine->space_lock);
	return ample;
}

/*
 * Put in pieces, what the log has takes no more than its bytes in leaves that are half full, and as much again for the pages
 * of long values that are not full; half of what there is is left to the pieces themselves. The usual reserve is enough for
 * a full log.
 */
bool lmdb_space_squeezes(struct engine *engine, size_t log_bytes)
{
	const struct space *space = &engine->space;

	pthread_mutex_lock(&engine->space_lock);
	/* What did not know that space is low may have added. */
	uint64_t kept = space->beyond_reserve == 0 ? 0 : beyond(space->all, space->beyond_reserve) / 2;
	bool fits = 4 * (uint64_t)log_bytes <= (space->all - kept) * engine->page;
	pthread_mutex_unlock(&engine->space_lock);
	return fits;
}

bool lmdb_space_turns(struct engine *engine)
{
	pthread_mutex_lock(&engine->space_lock);
	bool turn = engine->space.turn;
	pthread_mutex_unlock(&engine->space_lock);
	return turn;
}

void lmdb_space_short(struct engine *engine)
{
	atomic_store_explicit(&engine->space_free, 0, memory_order_relaxed);
	atomic_store_explicit(&engine->space_low, true, memory_order_relaxed);
}

void lmdb_space_update(struct engine *engine)
{
	MDB_envinfo info;

	pthread_mutex_lock(&engine->look_lock);
	if (engine->map_size != 0 && mdb_env_info(engine->env, &info) == 0) {
		uint64_t end = ((uint64_t)info.me_last_pgno + 1) * engine->page;
		struct space space;

		atomic_store_explicit(&engine->space_used, end, memory_order_relaxed);
		if (!engine->readonly) {
			space_look(engine, &space, end);
			pthread_mutex_lock(&engine->space_lock);
			engine->space = space;
			pthread_mutex_unlock(&engine->space_lock);
		}
	}
	pthread_mutex_unlock(&engine->look_lock);
}

void lmdb_space_init(struct engine *engine, uint64_t max_bytes)
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
		if (engine->layer != NULL && engine->layer->writes.count > 0) {
			struct lmdb_shape shape;

			shape_look(engine, &shape);
			shape.pages = end / engine->page;
			end += lmdb_pages_needed(&shape, engine->page, engine->layer->writes.count,
						 engine->layer->overflow)
				       .pages *
			       engine->page;
		}
		/* A limit below what is there already must not keep anything from being removed. */
		if (end > engine->limit)
			engine->map_limit = round_up(end + space_reserve(engine, end));
	}
	/* The blocks it has stay its own, also on a disk that is full by now. */
	if (!engine->readonly && mdb_env_get_fd(engine->env, &fd) == 0 && fstat(fd, &st) == 0)
		blocks_allocate(engine, (uint64_t)st.st_size);
	engine->disk_full_at = 0;
	lmdb_space_update(engine);
}

/* The disk may have got space again since it was full, and while adding is refused no commit comes along to notice. */
static void space_retry(struct engine *engine)
{
	if (pthread_mutex_trylock(&engine->look_lock) != 0)
		return;
	bool due = engine->disk_full_at != 0 &&
		   engine_time(CLOCK_MONOTONIC_COARSE) - engine->disk_full_at >= DISK_RETRY;
	pthread_mutex_unlock(&engine->look_lock);
	if (due && pthread_rwlock_tryrdlock(&engine->map_lock) == 0) {
		lmdb_space_update(engine);
		pthread_rwlock_unlock(&engine->map_lock);
	}
}

void lmdb_space(struct engine *engine, struct store_space *out)
{
	if (atomic_load_explicit(&engine->space_low, memory_order_relaxed))
		space_retry(engine);
	out->used = atomic_load_explicit(&engine->space_used, memory_order_relaxed);
	out->free = atomic_load_explicit(&engine->space_free, memory_order_relaxed);
	out->size = atomic_load_explicit(&engine->space_size, memory_order_relaxed);
	out->scarce = atomic_load_explicit(&engine->space_scarce, memory_order_relaxed);
	out->low = atomic_load_explicit(&engine->space_low, memory_order_relaxed);
}

void lmdb_promise(struct engine *engine, uint64_t bytes)
{
	atomic_store_explicit(&engine->promised, bytes, memory_order_relaxed);
}
