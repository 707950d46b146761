// Keeps <main> as the server would draw it now, and filters while one types. Without this script the page is complete, too.
"use strict";
(() => {
	const main = document.getElementById("main");
	const live = document.getElementById("live");
	let timer = 0;
	let running = false;
	let again = false;

	const url = () => {
		const here = new URL(location.href);
		here.searchParams.set("part", "1");
		return here;
	};

	const redraw = async () => {
		if (running) {
			again = true;
			return;
		}
		running = true;
		try {
			const reply = await fetch(url());
			const text = await reply.text();
			const input = document.activeElement;
			const typing = input instanceof HTMLInputElement && main.contains(input)
				? { id: input.id, value: input.value, start: input.selectionStart, end: input.selectionEnd } : null;
			main.innerHTML = text;
			const field = typing && document.getElementById(typing.id);
			if (field) {
				field.value = typing.value;
				field.focus();
				field.setSelectionRange(typing.start, typing.end);
			}
		} catch {
			live.textContent = "no answer from the server";
		}
		running = false;
		if (again) {
			again = false;
			soon();
		}
	};

	const soon = (wait = 150) => {
		clearTimeout(timer);
		timer = setTimeout(redraw, wait);
	};

	const listen = () => {
		const events = new EventSource("/events");
		events.onopen = () => { live.textContent = "live"; soon(); };
		events.onerror = () => {
			live.textContent = "not live: trying again";
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
	setInterval(() => { if (!document.hidden && !main.contains(document.activeElement)) soon(0); }, 10000);
	listen();
})();
