"""openapi.py URL: what atlock serve answers is what its openapi.json describes: status, type, and each object, member by member."""
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

url = sys.argv[1]
TYPES = {"string": str, "integer": int, "object": dict}


def get(path, query=None):
    query = urllib.parse.urlencode(query or {})
    try:
        reply = urllib.request.urlopen(url + path + ("?" + query if query else ""), timeout=60)
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        return reply.status, reply.headers["Content-Type"].split(";")[0], reply.read().decode()


def matches(value, schema, where):
    """Nothing in the value that is not described, nothing required that is missing."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if value is None and schema.get("nullable"):
        return
    wanted = TYPES[schema["type"]]
    assert isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)), (where, value)
    assert "enum" not in schema or value in schema["enum"], (where, value)
    if wanted is not dict:
        return
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", []) if name not in value]
    assert not missing, (where, "lacks", missing)
    for name, member in value.items():
        if name in properties:
            matches(member, properties[name], where + "." + name)
        elif isinstance(schema.get("additionalProperties"), dict):
            matches(member, schema["additionalProperties"], where + "." + name)
        else:
            assert not properties, (where, "does not describe", name)


def answer(path, query=None):
    """Asks, compares the answer with its description, and returns its objects."""
    status, kind, text = get(path, query)
    described = api["paths"][path]["get"]["responses"]
    assert str(status) in described, (path, query, status, text)
    assert kind in described[str(status)]["content"], (path, query, status, kind)
    schema = described[str(status)]["content"][kind]["schema"]
    if kind == "application/x-ndjson":
        objects = [json.loads(line) for line in text.splitlines()]
    else:
        objects = [json.loads(text) if kind == "application/json" else text]
    for one in objects:
        matches(one, schema, path)
    return status, objects


api = json.loads(get("/openapi.json")[2])
SEEN = {"/api/locks": 5, "/api/queue": 2, "/api/events": 10}
for path, methods in api["paths"].items():
    if "get" not in methods or path == "/events":
        continue
    names = [p["name"] for p in methods["get"].get("parameters", [])]
    required = {p["name"]: "web" for p in methods["get"].get("parameters", []) if p.get("required")}
    status, found = answer(path, required)
    assert status == 200 and len(found) >= SEEN.get(path, 1), (path, status, len(found))
    # Each parameter is one that counts: a value that nothing has finds nothing.
    for name in names if path in SEEN else []:
        status, found = answer(path, {name: "999999999" if name == "after" else "nonsense"})
        assert status in (400, 410) or found == [], (path, name, status, len(found))
    if path in SEEN:
        assert answer(path, {"older": "1h"})[1] == [] and len(answer(path, {"newer": "1h"})[1]) >= SEEN[path], path
        assert len(answer(path, {"limit": 1})[1]) == 1, path
for app, status, word in ("web", 200, "UP"), ("batch", 503, "DOWN"), ("none", 404, "UNKNOWN"):
    got, (said,) = answer("/status/quick", {"app": app})
    assert (got, said["status"], said["http_code"], said["app"]) == (status, word, status, app), said
