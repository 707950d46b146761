/* Tickets from the objects of locks.jsonl. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static int ticket_add(struct graph_edges *edges, const json_t *waiter)
{
	const char *lock = source_text(waiter, "lock");
	const char *holder = source_text(edges->holders, lock);
	struct graph_edge *list = tool_grow(edges->list, edges->count, &edges->room, sizeof(*list));
	struct graph_edge *edge;
	char name[SOURCE_HOLDER_MAX];

	if (list == NULL)
		return -ENOMEM;
	edges->list = list;
	edge = &list[edges->count++];
	source_holder(waiter, name);
	*edge = (struct graph_edge){ .lock = strdup(lock),
				     .waiter = strdup(name),
				     .holder = strdup(holder[0] != '\0' ? holder : "?"),
				     .priority = strdup(source_text(waiter, "priority")),
				     .position = json_integer_value(json_object_get(waiter, "position")) };
	return edge->lock == NULL || edge->waiter == NULL || edge->holder == NULL || edge->priority == NULL ? -ENOMEM
													    : 0;
}

int graph_edges_add(struct graph_edges *edges, const json_t *object)
{
	char holder[SOURCE_HOLDER_MAX];

	if (edges->holders == NULL)
		edges->holders = json_object();
	if (source_is_waiter(object))
		return ticket_add(edges, object);
	if (json_integer_value(json_object_get(object, "waiters")) == 0)
		return 0;
	source_holder(object, holder);
	return json_object_set_new(edges->holders, source_text(object, "lock"), json_string(holder)) == 0 ? 0 : -ENOMEM;
}

void graph_edges_free(struct graph_edges *edges)
{
	for (size_t i = 0; i < edges->count; i++) {
		free(edges->list[i].lock);
		free(edges->list[i].waiter);
		free(edges->list[i].holder);
		free(edges->list[i].priority);
	}
	free(edges->list);
	json_decref(edges->holders);
	*edges = (struct graph_edges){ .count = 0 };
}
