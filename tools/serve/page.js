// Keeps <main> as the server would draw it now, and filters while one types. Without this script the page is complete, too.
"use strict";
(() => {
	const main = document.getElementById("main");
	const live = document.getElementById("live");
	let timer = 0;
	let running = false;
	let again = false;
	let shown = "";

	const say = (text, on) => {
		if (live.textContent !== text)
			live.textContent = text;
		live.className = on ? "on" : "";
	};

	const url = () => {
		const here = new URL(location.href);
		here.searchParams.set("part", "1");
		return here;
	};

	// What the keyboard is in stays: a field with its text, a link or a heading by its place among equal ones.
	const keep = () => {
		const at = document.activeElement;
		if (!main.contains(at))
			return () => {};
		if (at instanceof HTMLInputElement && at.id) {
			const { id, value, selectionStart, selectionEnd } = at;
			return () => {
				const field = document.getElementById(id);
				if (!field)
					return;
				field.value = value;
				field.focus({ preventScroll: true });
				field.setSelectionRange(selectionStart, selectionEnd);
			};
		}
		const name = at.getAttribute("href") || at.getAttribute("aria-label") || at.textContent;
		const like = () => [...main.querySelectorAll(at.tagName)].filter((other) =>
			(other.getAttribute("href") || other.getAttribute("aria-label") || other.textContent) === name);
		const place = like().indexOf(at);
		return () => like()[place]?.focus({ preventScroll: true });
	};

	const draw = (text) => {
		const restore = keep();
		const form = main.querySelector("form.release");
		const open = main.querySelector("details")?.open;
		const across = [...main.querySelectorAll(".wide")].map((wide) => wide.scrollLeft);
		main.innerHTML = text;
		// A form that is being filled in stays about the grant that was looked at.
		if (form && form.reason.value !== "")
			main.querySelector("form.release")?.replaceWith(form);
		if (open !== undefined && main.querySelector("details"))
			main.querySelector("details").open = open;
		main.querySelectorAll(".wide").forEach((wide, i) => { wide.scrollLeft = across[i] || 0; });
		restore();
	};

	const redraw = async () => {
		timer = 0;
		if (running) {
			again = true;
			return;
		}
		running = true;
		try {
			const reply = await fetch(url());
			const text = await reply.text();
			if (text !== shown)
				draw(text);
			shown = text;
		} catch {
			say("no answer from the server", false);
		}
		running = false;
		if (again) {
			again = false;
			soon();
		}
	};

	// Many events at once are one change of the page; a stream of them must not put it off for ever.
	const soon = (wait = 150) => {
		timer = timer || setTimeout(redraw, wait);
	};

	const listen = () => {
		const events = new EventSource("/events");
		events.onopen = () => { say("live", true); soon(); };
		events.onerror = () => {
			say("not live: trying again", false);
			if (events.readyState === EventSource.CLOSED)
				setTimeout(listen, 3000);
		};
		events.addEventListener("lock", () => soon());
		events.addEventListener("reload", () => soon());
	};

	main.addEventListener("input", (event) => {
		if (event.target.id !== "q")
			return;
		const here = new URL(location.href);
		here.searchParams.set("q", event.target.value);
		here.searchParams.delete("from");
		history.replaceState(null, "", here);
		soon();
	});
	document.addEventListener("keydown", (event) => {
		const field = document.getElementById("q");
		if (event.key === "/" && field && !(event.target instanceof HTMLInputElement)) {
			event.preventDefault();
			field.focus();
		}
	});
	// Ages grow without events.
	setInterval(() => { if (!document.hidden) soon(0); }, 10000);
	listen();
})();
