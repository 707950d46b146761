#include "serve_asset.h"

#include <stddef.h>
#include <string.h>

/* The assembler reads the file, from the directory in which make runs. The Makefile has the dependencies. */
#define ASSET(name, file)                                                \
	__asm__(".pushsection .rodata\n"                                 \
		".global serve_" #name "\n.global serve_" #name "_end\n" \
		"serve_" #name ":\n.incbin \"tools/serve/" file "\"\n"   \
		"serve_" #name "_end:\n.byte 0\n.popsection\n");         \
	extern const char serve_##name[];                                \
	extern const char serve_##name##_end[]

ASSET(style, "page.css");
ASSET(script, "page.js");
ASSET(icon, "icon.svg");
ASSET(openapi, "openapi.json");

static const struct serve_asset assets[] = {
	{ "/page.css", "text/css; charset=utf-8", serve_style, serve_style_end },
	{ "/page.js", "text/javascript; charset=utf-8", serve_script, serve_script_end },
	{ "/icon.svg", "image/svg+xml", serve_icon, serve_icon_end },
	{ "/openapi.json", "application/json", serve_openapi, serve_openapi_end },
};

const struct serve_asset *serve_asset_find(const char *path)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (strcmp(path, assets[i].path) == 0)
			return &assets[i];
	return NULL;
}
