#!/bin/bash
# Locks of other systems than Atlantis itself: the enhanced lock manager's in a Redis, a lease service's and a guard's in DynamoDB.
# root
# timeout: 120
. tests/mount/lib.sh
. tests/mount/import.inc

# The enhanced manager's locks come with priority, lease and metadata, its queue in its order; and go back.
enhanced() {
	mount_fs
	redis_start
	prefix=atlantis:enhanced
	value() { # <owner> <priority> <path> <metadata>
		printf '{"id":"lock_1_%s_ab","resource":{"type":"project","namespace":"acme/infra","name":"x","workspace":"prod","path":"%s"},"state":"acquired","priority":%d,"owner":"%s","acquired_at":"2026-10-01T10:00:00Z","metadata":%s,"version":3}' \
			"$1" "$3" "$2" "$1" "$4"
	}
	redis setex "$prefix:lock:acme/infra:vpc:prod" 600 "$(value alice 2 vpc '{"pull_request":"123","command":"plan"}')" >/dev/null
	redis set "$prefix:lock:acme/infra:dns:prod" "$(value bob 1 dns '{}')" >/dev/null
	redis zadd "$prefix:queue:acme/infra:vpc:prod" 1000009 "$(value carol 3 vpc '{}')" 3000001 "$(value dave 1 vpc '{}')" \
		2000001 "$(value erin 2 vpc '{}')" >/dev/null
	redis set "$prefix:lock:broken" '{"owner":"x"}' >/dev/null
	redis set stranger 1 >/dev/null
	expect_status 1 atlock import "$URI"
	expect_equal "$(last_line)" \
		'imported 0 locks, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, 1 passed over, 2 locks of another system, 3 waiters of another system, 1 key of another program (stranger)'
	grep -q '^passed over broken: ' "$T/out" || fail "$(cat "$T/out")"
	lock=$MNT/repos/acme/infra/-/vpc/-/prod
	expect_equal "$(field "$lock" owner)@$(field "$lock" who) $(field "$lock" priority) $(field "$lock" command)" \
		'alice@pr:123 high plan'
	[[ $(field "$lock" ttl) = 10m || $(field "$lock" ttl) = 9m* ]] || fail "$(field "$lock" ttl)"
	expect_equal "$(field "$MNT/repos/acme/infra/-/dns/-/prod" owner)" bob
	expect_equal "$(ls "$MNT/queue/repos/acme/infra/-/vpc/-/prod" | sed 's/.*@//' | xargs)" 'carol erin dave'

	redis flushall >/dev/null
	expect_ok touch "$MNT/global/apply@freeze" "$MNT/custom/none"
	expect_status 0 atlock export --format enhanced --to "$URI"
	expect_equal "$(last_line)" 'exported 6 records; 0 were there already, 0 conflicts, 1 that the enhanced manager has no form for'
	expect_equal "$(redis get "$prefix:lock:acme/infra:vpc:prod" |
		jq -c '[.owner, .priority, .resource.namespace, .resource.path, .resource.workspace, .metadata.pull_request]')" \
		'["alice",2,"acme/infra","vpc","prod","123"]'
	ttl=$(redis ttl "$prefix:lock:acme/infra:vpc:prod")
	[ "$ttl" -gt 400 ] && [ "$ttl" -le 600 ] || fail "a TTL of $ttl s"
	expect_equal "$(redis zrange "$prefix:queue:acme/infra:vpc:prod" 0 -1 | jq -r '[.owner, .priority, .resource.path] | @csv' | xargs)" \
		'carol,3,vpc erin,2,vpc dave,1,vpc'
	expect_status 0 atlock export --format enhanced --to "$URI"
	expect_equal "$(last_line)" 'exported 0 records; 6 were there already, 0 conflicts, 1 that the enhanced manager has no form for'
	expect_status 64 atlock export --format enhanced
	server_stop
}

# Scans of DynamoDB tables, on one line or many, from a file or from standard input.
dynamo() {
	mount_fs
	now=$(date +%s)
	item() { # <namespace> <name> <owner> <instance> <expiry>
		printf '{"lockId":{"S":"%s/%s"},"namespace":{"S":"%s"},"lockName":{"S":"%s"},"owner":{"S":"%s"},"instanceId":{"S":"%s"},"leaseDuration":{"N":"600"},"expiry":{"N":"%s"}}' \
			"$1" "$2" "$1" "$2" "$3" "$4" "$5"
	}
	printf '{"Items":[%s,%s,%s,%s,{"what":{"S":"ever"}},{"pk":{"S":"LOCK#DB#odd"},"keeper":{"S":"a"}}],"Count":6}' "$(item team-a nightly alice i-1 $((now + 600)))" \
		"$(item team-a weekly bob i-2 $((now * 1000 + 600000)))" "$(item team-a over bob i-2 $((now - 10)))" \
		"{\"pk\":{\"S\":\"LOCK#DB#orders\"},\"owner\":{\"S\":\"app-a\"},\"expiresAt\":{\"N\":\"$((now + 60))\"}}" >"$T/scan.json"
	expect_status 1 atlock import "$T/scan.json"
	expect_equal "$(last_line)" \
		'imported 0 locks, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, 3 passed over, 3 locks of another system'
	grep -q '^passed over item 3: custom/team-a/over: its lease has run out$' "$T/out" || fail "$(cat "$T/out")"
	grep -q '^passed over item 5: is neither .*: it has what$' "$T/out" || fail "$(cat "$T/out")"
	grep -q '^passed over item 6: LOCK#DB#odd names no owner .*: it has pk, keeper$' "$T/out" || fail "$(cat "$T/out")"
	expect_equal "$(field "$MNT/custom/team-a/nightly" owner)@$(field "$MNT/custom/team-a/nightly" who)" alice@i-1
	expect_equal "$(field "$MNT/custom/team-a/nightly" lease_duration)" 600
	[[ $(field "$MNT/custom/team-a/weekly" ttl) = 9m*s || $(field "$MNT/custom/team-a/weekly" ttl) = 10m ]] ||
		fail "$(field "$MNT/custom/team-a/weekly" ttl)"
	expect_equal "$(field "$MNT/shared/orders/stop" who)" app-a
	expect_status 1 atlock import - < <(jq . "$T/scan.json")
	expect_equal "$(last_line)" \
		'imported 0 locks, 0 pull requests, 0 global locks; 3 were there already, 0 conflicts, 3 passed over'
}

# Two nodes of a Cluster have the slots: whichever is named, all is read. A node that is gone is no smaller Cluster.
cluster() {
	mount_fs
	redis_start --cluster-enabled yes --cluster-config-file "$T/nodes.conf" --cluster-require-full-coverage no
	first=$PORT
	redis cluster addslotsrange 0 8191 >/dev/null
	PORT=
	redis_start --cluster-enabled yes --cluster-config-file "$T/nodes2.conf" --cluster-require-full-coverage no
	redis cluster addslotsrange 8192 16383 >/dev/null
	redis cluster meet 127.0.0.1 "$first" >/dev/null
	for port in "$first" "$PORT"; do
		wait_until 'redis-cli -p "$port" cluster info | grep cluster_state:ok >/dev/null' 30
		wait_until '[ "$(redis-cli -p "$port" cluster slots | grep -c -x -e "$first" -e "$PORT")" = 2 ]' 30
	done
	for i in 1 2 3 4 5 6 7 8; do
		redis -c set "pr/acme/infra/p$i/default/" \
			"{\"Project\":{\"RepoFullName\":\"acme/infra\",\"Path\":\"p$i\"},\"Pull\":{\"Num\":$i},\"Workspace\":\"default\"}" >/dev/null
	done
	for port in "$first" "$PORT"; do
		[ "$(redis-cli -p "$port" dbsize)" -lt 8 ] || fail "one node has all keys"
	done
	expect_status 0 atlock import "redis://127.0.0.1:$first/0"
	expect_equal "$(last_line)" \
		'imported 8 locks, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, 0 passed over, from 2 nodes of a Redis Cluster'
	expect_status 0 atlock import --dry-run "$URI"
	grep -q ' 8 were there already' "$T/out" || fail "$(cat "$T/out")"
	expect_ok rm "$MNT/repos/acme/infra/-/p1/-/default@pr:1" "$MNT/repos/acme/infra/-/p2/-/default@pr:2"
	expect_ok touch "$MNT/repos/acme/infra/-/new/-/default@pr:9"
	expect_status 0 atlock mirror --once --delete --to "$URI"
	expect_equal "$(for port in "$first" "$PORT"; do redis-cli -p "$port" keys 'pr/*'; done | sort | xargs)" \
		"$(printf 'pr/acme/infra/%s/default/ ' new p3 p4 p5 p6 p7 p8 | xargs)"
	server_stop KILL
	expect_status 69 atlock import "redis://127.0.0.1:$first/0"
	grep -q "a node of the Cluster, redis at 127.0.0.1 port $PORT" "$T/err" || fail "$(cat "$T/err")"
}

behaviours enhanced dynamo cluster
