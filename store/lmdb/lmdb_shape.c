/* What LMDB's tree and its list of free pages are like, as the newest transaction has them. */
#include "lmdb_shape.h"

#include "lmdb_engine.h"
#include "lmdb_view.h"

#include <string.h>

void lmdb_shape_look(struct engine *engine, struct lmdb_shape *out)
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

/* LMDB lists free pages in its database 0, by the transaction that gave them up: an array of numbers behind its length. */
void lmdb_shape_count(struct engine *engine, struct lmdb_shape *shape, uint64_t enough)
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
