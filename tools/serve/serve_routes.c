#include "serve_routes.h"

#include <string.h>

#include "serve_api.h"
#include "serve_asset.h"
#include "serve_page.h"
#include "serve_release.h"
#include "serve_stream.h"

static const struct route {
	const char *path;
	void (*show)(struct serve_request *request, struct serve_reply *reply);
} routes[] = {
	{ "/", serve_page_locks },           { "/lock", serve_page_lock },         { "/user", serve_page_user },
	{ "/pull", serve_page_pull },        { "/graph", serve_page_graph },       { "/graph.svg", serve_graph },
	{ "/status", serve_page_status },    { "/events", serve_stream_open },     { "/health", serve_api_health },
	{ "/metrics", serve_api_metrics },   { "/api/locks", serve_api_locks },    { "/api/queue", serve_api_queue },
	{ "/api/events", serve_api_events }, { "/status/quick", serve_api_quick },
};

/* Files whose text never changes. */
static bool asset_show(const char *path, struct serve_reply *reply)
{
	const struct serve_asset *asset = serve_asset_find(path);

	if (asset == NULL)
		return false;
	reply->type = asset->type;
	fwrite(asset->text, 1, (size_t)(asset->end - asset->text), reply->out);
	return true;
}

static void refuse(struct serve_reply *reply, unsigned status, const char *text)
{
	reply->status = status;
	fputs(text, reply->out);
}

bool serve_route(struct serve_request *request, const char *method, struct serve_reply *reply)
{
	bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

	if (strcmp(request->url, "/release") == 0 && strcmp(method, "POST") == 0)
		return serve_release_take(request, reply);
	if (!get) {
		refuse(reply, MHD_HTTP_METHOD_NOT_ALLOWED, "This address can only be read.\n");
		return true;
	}
	if (asset_show(request->url, reply))
		return true;
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(request->url, routes[i].path) == 0) {
			routes[i].show(request, reply);
			return true;
		}
	refuse(reply, MHD_HTTP_NOT_FOUND, "There is no such page. The locks are at /\n");
	return true;
}
