#!/bin/bash
# The recipes for nginx and Caddy, as they stand in docs/RECIPES.md: login, events as they happen, and the user who has logged in releases his
# lock, whatever header the browser sends. A proxy that is not installed is left out.
# timeout: 300
# root
. tests/mount/lib.sh
. tests/mount/serve.inc
[ -n "$(command -v nginx)" ] || [ -n "$(command -v caddy)" ] || skip 'needs nginx or caddy'
mount_fs
chmod 755 "$T"
SERVE_LISTEN=unix:$T/socket
serve_start --allow-release --proxy www-data

# A recipe with this test's names: recipe LANGUAGE SED...
recipe() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" docs/RECIPES.md | sed '/^```/d' | sed "s|/run/atlock-serve.sock|$T/socket|" | sed "${@:2}"
}
run_nginx() { # PORT
	echo "atlt1:$(openssl passwd -apr1 secret)" >"$T/htpasswd"
	cat >"$T/nginx.conf" <<-END
		daemon off; user www-data; pid $T/nginx.pid; error_log stderr;
		events {}
		http { access_log off; client_body_temp_path $T/body; proxy_temp_path $T/proxy; fastcgi_temp_path $T/fastcgi;
		uwsgi_temp_path $T/uwsgi; scgi_temp_path $T/scgi;
		server { listen 127.0.0.1:$1; $(recipe nginx "s|/etc/nginx/locks.htpasswd|$T/htpasswd|") } }
	END
	exec nginx -e stderr -c "$T/nginx.conf"
}
run_caddy() { # PORT
	local hash
	hash=$(HOME=$T caddy hash-password --plaintext secret)
	{
		printf '{\n\tadmin off\n}\n'
		recipe caddy "s|^locks.example.com|http://127.0.0.1:$1|; s|alice <.*>|atlt1 ${hash//\//\\/}|"
	} >"$T/Caddyfile"
	mkdir -p "$T/caddy"
	chown www-data "$T/caddy"
	HOME=$T/caddy XDG_DATA_HOME=$T/caddy XDG_CONFIG_HOME=$T/caddy exec setpriv --reuid=www-data --regid=www-data --clear-groups \
		caddy run --config "$T/Caddyfile" --adapter caddyfile
}

value() { # NAME: of the form on the lock's page
	get '/lock?name=custom/mine' -u atlt1:secret | xmllint --html --xpath "string(//form[@class='release']//input[@name='$1']/@value)" - 2>/dev/null
}
through() {
	expect_equal "$(status /)" 401
	expect_equal "$(status / -u atlt1:wrong)" 401
	expect_ok as_user atlt1 touch "$MNT/custom/mine@a"
	expect_ok as_user atlt2 touch "$MNT/custom/other@b"
	wait_until "[[ \$(get / -u atlt1:secret) == *custom/mine* ]]"
	# Events, while the reply goes on.
	curl -sSN --max-time 100 -u atlt1:secret "$URL/events" >"$T/stream" 2>/dev/null &
	STREAM=$!
	wait_until "grep -q 'still here' '$T/stream'" 30
	expect_ok as_user atlt1 touch "$MNT/custom/new@a"
	wait_until "grep -q '\"lock\":\"custom/new\"' '$T/stream'" 30
	kill "$STREAM"
	wait "$STREAM" || true
	# The name that he logged in with counts, not the header that he sends.
	form=(--data-urlencode "lock=custom/mine" --data-urlencode "id=$(value id)" --data-urlencode "token=$(value token)"
		--data-urlencode "word=$(value word)" --data-urlencode "reason=through $1")
	expect_equal "$(status /release "${form[@]}" -u atlt1:secret -H 'X-Remote-User: atlt2')" 303
	expect_equal "$(jq -rs '[.[] | select(.type == "released")][-1] | .lock + " " + .actor + ": " + .reason' "$MNT/events/live")" \
		"custom/mine atlt1: through $1"
	expect_ok as_user atlt1 rm "$MNT/custom/new@a"
	expect_ok as_user atlt2 rm "$MNT/custom/other@b"
}

for proxy in nginx caddy; do
	[ -n "$(command -v "$proxy")" ] || continue
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	"run_$proxy" "$port" >"$T/$proxy.log" 2>&1 &
	PROXY=$!
	URL=http://127.0.0.1:$port
	wait_until "is_gone $PROXY || [ \"\$(status / 2>/dev/null)\" = 401 ]" 60
	! is_gone "$PROXY" || fail "$proxy did not start: $(cat "$T/$proxy.log")"
	through "$proxy"
	kill "$PROXY"
	wait "$PROXY" || true
done
serve_stop
