// search.js - the search field: a combobox whose list holds the items found (ARIA 1.2: focus stays in the field,
// aria-activedescendant tells which option is meant).
import * as api from "./api.js";
import { count, el, icon, say } from "./dom.js";
import { remember } from "./names.js";

const PAUSE = 90; // milliseconds of silence before the server is asked
const MOST = 12;

// pick(id, title) is called with the item chosen, taken(id) tells whether it is in the history already, and
// back() that Backspace was pressed in the empty field.
export function combobox(input, list, { pick, taken, back }) {
    let found = [], at = -1, timer = 0, request = null, opened = false;

    function show(open) {
        opened = open;
        list.hidden = !open;
        input.setAttribute("aria-expanded", String(open));
        if (!open)
            aim(-1);
    }

    function aim(n) {
        at = n;
        [...list.children].forEach((option, place) => {
            if (option.getAttribute("role") === "option")
                option.setAttribute("aria-selected", String(place === n));
        });
        if (n >= 0) {
            input.setAttribute("aria-activedescendant", list.children[n].id);
            list.children[n].scrollIntoView({ block: "nearest" });
        } else
            input.removeAttribute("aria-activedescendant");
    }

    // The title with the part that was searched for marked.
    function marked(title, text) {
        const where = text ? title.toLowerCase().indexOf(text.toLowerCase()) : -1;
        if (where < 0)
            return [title];
        return [title.slice(0, where), el("mark", { text: title.slice(where, where + text.length) }), title.slice(where + text.length)];
    }

    function draw(text) {
        list.replaceChildren(...found.map((item, n) => el("li",
            {
                role: "option", id: `found-${n}`, "aria-selected": "false", class: taken(item.id) ? "taken" : null,
                onpointermove: () => at !== n && aim(n),
                onpointerdown: (event) => event.preventDefault(), // the field keeps the focus
                onclick: () => choose(n),
            },
            el("span", { class: "found-name" }, marked(item.title, text),
                item.title === item.id ? null : el("span", { class: "found-id" }, marked(item.id, text))),
            el("span", { class: "found-count", text: taken(item.id) ? "in the history" : count(item.count), title: "events" }),
            taken(item.id) ? icon("check") : null)));
        if (found.length === 0)
            list.append(el("li", { class: "found-none", role: "presentation", text: text ? `Nothing contains “${text}”.` : "There are no items yet." }));
        show(true);
        aim(found.length && text ? 0 : -1);
        say(found.length ? `${found.length} items found` : "nothing found");
    }

    async function look() {
        const text = input.value.trim();
        if (request)
            request.abort();
        request = new AbortController();
        const mine = request;
        try {
            const { data } = await api.search(text, MOST, mine.signal);
            if (mine.signal.aborted || document.activeElement !== input)
                return;
            found = data.map((item) => ({ id: item.id, title: item.title || item.id, count: item.count }));
            for (const item of found)
                remember(item.id, item.title);
            draw(text);
        } catch {
            if (!mine.signal.aborted)
                show(false); // the notice above the list tells what is wrong
        }
    }

    function later(pause) {
        clearTimeout(timer);
        timer = setTimeout(look, pause);
    }

    function close() {
        clearTimeout(timer);
        if (request)
            request.abort();
        show(false);
    }

    function choose(n) {
        const item = found[n];
        if (!item)
            return;
        input.value = "";
        close();
        if (!taken(item.id))
            pick(item.id, item.title);
    }

    input.addEventListener("input", () => later(PAUSE));
    input.addEventListener("click", () => opened || later(0));
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
        if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey)
            return;
        const last = found.length - 1;
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            if (!opened)
                later(0);
            else if (last >= 0)
                aim(event.key === "ArrowDown" ? (at >= last ? 0 : at + 1) : (at <= 0 ? last : at - 1));
        } else if (event.key === "Enter") {
            event.preventDefault();
            if (opened)
                choose(at >= 0 ? at : 0);
        } else if (event.key === "Escape" && (opened || input.value)) {
            event.preventDefault();
            input.value = "";
            close();
        } else if (event.key === "Backspace" && !input.value)
            back();
    });
}
