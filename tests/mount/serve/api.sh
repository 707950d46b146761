#!/bin/bash
# atlock serve's interface for programs: JSON lines as in the tree, pages by cursor, health and metrics, the guard's quick status;
# and openapi.json describes what is there.
. tests/mount/lib.sh
. tests/mount/serve.inc
mount_fs
me=$(id -un)
for i in 1 2 3 4 5; do expect_ok touch "$MNT/custom/lock $i@x"; done
expect_ok touch "$MNT/queue/custom/lock 1/low@w1" "$MNT/queue/custom/lock 1/high@w2"
expect_ok touch "$MNT/repos/acme/infra/-/vpc/-/production@pr:6" "$MNT/queue/repos/acme/infra/-/vpc/-/production/normal@pr:7"
expect_ok mkdir "$MNT/shared/db-1"
echo UP >"$MNT/shared/db-1/apps/web"
echo DOWN >"$MNT/shared/db-1/apps/batch"
serve_start

# The same objects as the tree has.
diff <(get /api/locks | jq -cS .) <(jq -cS 'select(.kind == "lock")' "$MNT/locks.jsonl") || fail 'the locks differ'
expect_equal "$(get '/api/queue?path=custom' | jq -r .who | tr '\n' ' ')" 'w2 w1 '
expect_equal "$(get '/api/queue?lock=custom/lock%202')" ''
expect_equal "$(get "/api/locks?owner=$me&path=custom/lock%203" | jq -r .lock)" 'custom/lock 3'
expect_equal "$(get '/api/locks?owner=nobody')" ''
expect_equal "$(get '/api/locks?older=1h')" ''

expect_equal "$(get '/api/queue?repo=acme/infra&pull=7' | jq -r .lock)" repos/acme/infra/-/vpc/-/production
expect_equal "$(get '/api/queue?repo=acme/inf')" ''
expect_equal "$(get '/api/events?repo=acme/infra&pull=7&type=queued' | jq -r .who)" pr:7
expect_equal "$(get "/api/locks?host=$(uname -n)&pull=6" | jq -r .who)" pr:6

# Page by page.
after=
seen=
for _ in 1 2 3; do
	get "/api/locks?limit=2&path=custom&after=$after" -D "$T/headers" >"$T/page"
	seen+=$(jq -r .lock "$T/page" | tr '\n' ';')
	after=$(sed -n 's/^atlock-next: \([^\r]*\).*/\1/Ip' "$T/headers")
done
expect_equal "$seen" 'custom/lock 1;custom/lock 2;custom/lock 3;custom/lock 4;custom/lock 5;'
expect_equal "$after" ''
expect_equal "$(status '/api/locks?after=custom/gone')" 410

# Events, by number.
get /api/events >"$T/events"
expect_equal "$(jq -rs '[.[] | select(.type == "acquired")] | length' "$T/events")" 6
expect_equal "$(get '/api/events?limit=1&type=queued' | jq -r .who)" w1
expect_equal "$(get "/api/events?after=$(tail -n 1 "$T/events" | jq .seq)")" ''

expect_equal "$(get /health | head -n 1)" ok
has /metrics atlockfs_ || fail 'no metrics'
quick() {
	get "/status/quick?app=$1" | jq -r '.app + " " + .status + " " + (.http_code | tostring)'
}
expect_equal "$(quick web)" 'web UP 200'
expect_equal "$(quick batch)" 'batch DOWN 503'
expect_equal "$(quick none)" 'none UNKNOWN 404'
expect_equal "$(status '/status/quick?app=batch')" 503

# Every path of the description answers as it says, and no other is there.
get /openapi.json >"$T/openapi"
jq -r '.paths | to_entries[] | select(.value.get) | .key' "$T/openapi" | sort >"$T/described"
grep -oE '"/(api/|health|metrics|status/|events)[a-z]*"' tools/serve/serve_routes.c | tr -d '"' | sort >"$T/routes"
diff "$T/described" "$T/routes" || fail 'openapi.json does not name what is served'
python3 tests/mount/serve/openapi.py "$URL" || fail 'openapi.json says something else'
serve_stop
