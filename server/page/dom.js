// dom.js - making elements, and writing numbers and times for people.
//
// Whatever comes from the server becomes text (textContent) or an attribute's value, never markup.

export const $ = (id) => document.getElementById(id);

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === undefined || value === null || value === false)
            continue;
        if (name.startsWith("on"))
            node.addEventListener(name.slice(2), value);
        else if (name === "text")
            node.textContent = value;
        else if (name === "vars") // custom properties; style attributes are forbidden by the content security policy
            for (const [key, one] of Object.entries(value))
                node.style.setProperty(key, one);
        else
            node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const ICONS = {
    plus: "M10 4v12M4 10h12",
    cross: "M5 5l10 10M15 5L5 15",
    record: "M10 4a6 6 0 1 0 0 12a6 6 0 1 0 0-12M10 8.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3",
    check: "M4 10.5l4 4l8-9",
};
export const icon = (name) => svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

// Moves, adds and removes children so that they are exactly these, in this order, touching only what differs: elements
// that stay keep their focus.
export function arrange(parent, children) {
    const wanted = new Set(children);
    for (const child of [...parent.children])
        if (!wanted.has(child))
            child.remove();
    let place = parent.firstElementChild;
    for (const child of children) {
        if (child === place)
            place = place.nextElementSibling;
        else
            parent.insertBefore(child, place);
    }
}

// Says it to screen readers. The same sentence twice is said twice.
export function say(text) {
    const place = $("said");
    place.textContent = place.textContent === text ? text + "\u00a0" : text;
}

// The server's sentences begin small and end without a full stop.
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

let toastTimer = 0;
export function toast(text, bad) {
    const place = $("toast");
    place.textContent = text;
    place.dataset.kind = bad ? "bad" : "good";
    place.classList.add("shown");
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => place.classList.remove("shown"), bad ? 8000 : 4500);
}

const whole = new Intl.NumberFormat("en");
export const count = (n) => (Number.isFinite(n) ? whole.format(Math.round(n)) : "–");
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

// Large and small numbers with about so many significant digits: 12.3 k, 4.56 M.
export function short(n, digits = 3) {
    if (!Number.isFinite(n))
        return "–";
    const size = Math.abs(n);
    for (const [unit, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e4]])
        if (size >= factor)
            return `${(n / (unit === "k" ? 1e3 : factor)).toPrecision(digits)} ${unit}`;
    return size >= 100 || Number.isInteger(n) ? count(n) : n.toFixed(size < 10 ? 2 : 1);
}

export function score(value) {
    if (!Number.isFinite(value))
        return "–";
    const size = Math.abs(value);
    if (Number.isInteger(value))
        return count(value);
    return size >= 1000 ? count(value) : size >= 10 ? value.toFixed(2) : size >= 0.001 ? value.toFixed(4) : value.toExponential(2);
}

export function percent(share) {
    if (!Number.isFinite(share))
        return "–";
    const value = share * 100;
    const text = Math.abs(value) > 0 && Math.abs(value) < 1 ? value.toFixed(1) : value.toFixed(0);
    return `${text.replace("-", "\u2212")} %`;
}

export function seconds(value) {
    if (!Number.isFinite(value))
        return "–";
    if (value < 0.001)
        return `${(value * 1e6).toFixed(0)} µs`;
    if (value < 1)
        return `${(value * 1e3).toPrecision(value < 0.01 ? 2 : 3)} ms`;
    return value < 120 ? `${value.toPrecision(3)} s` : span(value);
}

export const milliseconds = (ms) => seconds(ms / 1000);

// A length of time in its largest unit: 3 min, 5 h, 2 days.
export function span(value) {
    for (const [name, size] of [["day", 86400], ["h", 3600], ["min", 60]])
        if (value >= size) {
            const n = Math.floor(value / size);
            return `${n} ${name === "day" && n > 1 ? "days" : name}`;
        }
    return `${Math.max(0, Math.floor(value))} s`;
}

export function bytes(value) {
    if (!Number.isFinite(value))
        return "–";
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
        if (value >= size)
            return `${(value / size).toPrecision(3)} ${unit}`;
    return `${value} B`;
}

// A time of the server: ISO text, or a number of seconds or milliseconds since 1970. null when it is none.
export function time(value) {
    if (value === null || value === undefined || value === "" || value === 0)
        return null;
    const found = typeof value === "number" ? new Date(value < 1e11 ? value * 1000 : value) : new Date(value);
    return Number.isNaN(found.getTime()) || found.getTime() <= 0 ? null : found;
}

export function ago(value) {
    const when = time(value);
    if (!when)
        return "–";
    const passed = (Date.now() - when.getTime()) / 1000;
    return passed < 5 ? "just now" : `${span(passed)} ago`;
}

export function timeElement(value) {
    const when = time(value);
    return when ? el("time", { datetime: when.toISOString(), title: when.toLocaleString(), text: ago(value) }) : el("span", { text: "–" });
}
