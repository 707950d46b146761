// validate.js PARSER FILE: whether the description of the interface is one, by the rules of OpenAPI.
"use strict";
const [parser, file] = process.argv.slice(2);

require(parser).validate(file).then((api) => {
	console.log(`${file}: OpenAPI ${api.openapi}, ${Object.keys(api.paths).length} paths`);
}, (error) => {
	console.error(`${file}: ${error.message}`);
	process.exit(1);
});
