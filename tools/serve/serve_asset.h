/* The files that are part of the program: style, script, description of the interface. */
#ifndef TOOLS_SERVE_ASSET_H
#define TOOLS_SERVE_ASSET_H

struct serve_asset {
	const char *path;
	const char *type;
	const char *text;
	const char *end;
};

/* The file with this address, or NULL. */
const struct serve_asset *serve_asset_find(const char *path);

#endif
