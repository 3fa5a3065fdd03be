// app.js - starts the page: tabs, the address, the questions that are asked every two seconds, the server's absence.
import * as api from "./api.js";
import { $, plural, say } from "./dom.js";
import { explorer } from "./explorer.js";
import { askKey } from "./key.js";
import { loadPanel } from "./load.js";
import { modelPanel, trained } from "./model.js";

const PERIOD = 2000, LONGEST = 16000; // milliseconds between two questions, and when the server is gone
const TABS = ["explore", "model", "load"];

let tab = "explore", timer = 0, polling = false, wait = PERIOD, served = null;

const explore = explorer({ changed: writeAddress });
const model = modelPanel({ poll });
const load = loadPanel();

// ---- Tabs and the address: #explore?item=a&item=b, #model, #load

function writeAddress() {
    const query = explore.toAddress();
    const hash = tab === "explore" ? (query ? `#explore?${query}` : "#explore") : `#${tab}`;
    if (location.hash !== hash)
        history.replaceState(null, "", hash);
}

function showTab(name, focus) {
    tab = name;
    for (const one of TABS) {
        const button = $(`tab-${one}`), on = one === name;
        button.setAttribute("aria-selected", String(on));
        button.setAttribute("tabindex", on ? "0" : "-1");
        $(`panel-${one}`).hidden = !on;
        if (on && focus)
            button.focus();
    }
    document.title = name === "explore" ? "inmo" : `inmo: ${name}`;
}

for (const name of TABS) {
    $(`tab-${name}`).addEventListener("click", () => { showTab(name); writeAddress(); });
    $(`tab-${name}`).addEventListener("keydown", (event) => {
        const at = TABS.indexOf(name);
        const to = { ArrowRight: (at + 1) % TABS.length, ArrowLeft: (at + TABS.length - 1) % TABS.length, Home: 0, End: TABS.length - 1 }[event.key];
        if (to !== undefined) {
            event.preventDefault();
            showTab(TABS[to], true);
            writeAddress();
        }
    });
}

function readAddress() {
    const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
    explore.fromAddress(query || "");
    showTab(TABS.includes(name) ? name : "explore");
    explore.refresh();
}

addEventListener("hashchange", readAddress);
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        showTab("explore");
        explore.search();
    }
});

// ---- Every two seconds, while somebody looks

async function poll() {
    clearTimeout(timer);
    if (polling || document.hidden)
        return;
    polling = true;
    try {
        const [status, now] = await Promise.all([api.status(), api.model()]);
        wait = PERIOD;
        $("locked").hidden = true;
        load.update(status.data, now.data);
        model.update(now.data);
        pill(now.data);
        follow(now.data);
    } catch (error) {
        load.update(null, null);
        if (error.status === 0) {
            wait = Math.min(LONGEST, wait * 2);
            $("gone-text").textContent = `Next try in ${wait / 1000} s.`;
        } else {
            wait = PERIOD * 2;
            $("locked").hidden = !error.needsKey;
            setPill("bad", error.needsKey ? "key needed" : "not ready");
        }
    }
    polling = false;
    clearTimeout(timer);
    if (!document.hidden)
        timer = setTimeout(poll, wait);
}

function setPill(state, text) {
    $("pill").dataset.state = state;
    if ($("pill-text").textContent !== text)
        $("pill-text").textContent = text;
}

function pill(data) {
    const pending = data.freshness ? data.freshness.pending : 0;
    const what = !trained(data.model) ? "by popularity" : data.model.number ? `model ${data.model.number}` : data.model.name;
    setPill(data.retraining && data.retraining.running ? "busy" : "good",
        data.retraining && data.retraining.running ? `${what}, training` : pending > 0 ? `${what}, ${plural(pending, "new event", "new events")}` : `${what}, live`);
}

// Another model serves, or a refresh took place: the list may have changed.
function follow(data) {
    const now = `${data.model ? data.model.number : 0} ${data.freshness ? data.freshness.refreshes : 0}`;
    if (served !== null && served !== now)
        explore.refresh();
    served = now;
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : poll()));
$("gone-retry").addEventListener("click", () => { wait = PERIOD; poll(); });
api.events.addEventListener("gone", () => {
    $("gone").hidden = false;
    document.body.classList.add("is-gone");
    setPill("bad", "no answer");
});
api.events.addEventListener("back", () => {
    $("gone").hidden = true;
    document.body.classList.remove("is-gone");
    say("The server answers again");
    explore.refresh();
});
$("locked-key").addEventListener("click", async () => {
    if (await askKey("this server answers only with a key")) {
        explore.refresh();
        explore.suggest();
        poll();
    }
});

$("record-user").value = "visitor-1";
readAddress();
explore.suggest();
poll();
