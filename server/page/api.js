// api.js - the server's REST interface: one function that asks, errors that say what went wrong, the key.
//
// Addresses are relative to the page, so that it also works behind a proxy under a prefix. The key is kept in
// sessionStorage (until the tab closes) and only sent when there is one.

const KEY = "inmo-key";
const PATIENCE = 15000; // milliseconds until an answer counts as missing

export class ApiError extends Error {
    constructor(status, message, code, field) {
        super(message);
        this.status = status; // 0: there was no answer
        this.code = code;
        this.field = field;
    }

    get needsKey() {
        return this.status === 401 || this.status === 403;
    }
}

// "gone", "back": the server stopped answering, or answers again. "denied": a key is needed; detail is the error.
export const events = new EventTarget();
let gone = false;

function tell(type, detail) {
    events.dispatchEvent(new CustomEvent(type, { detail }));
}

export function key() {
    try {
        return sessionStorage.getItem(KEY) || "";
    } catch {
        return ""; // storage is switched off
    }
}

export function setKey(value) {
    try {
        if (value)
            sessionStorage.setItem(KEY, value);
        else
            sessionStorage.removeItem(KEY);
    } catch {
        // Without storage the key cannot be kept; the server will ask again.
    }
}

async function problem(response) {
    let found = {};
    try {
        found = await response.json();
    } catch {
        // Not ours (a proxy's page, say): the status has to do.
    }
    const sentence = typeof found.error === "string" && found.error ? found.error : `the server answered ${response.status}`;
    return new ApiError(response.status, sentence, found.code, found.field);
}

// Asks and returns {data, ms}. signal aborts the request; the promise is then rejected with an AbortError.
async function ask(method, path, body, signal) {
    const headers = { Accept: "application/json" };
    if (body !== undefined)
        headers["Content-Type"] = "application/json";
    if (key())
        headers["X-API-Key"] = key();
    const began = performance.now();
    const late = AbortSignal.timeout(PATIENCE);
    let response, data;
    try {
        response = await fetch(path, {
            method, headers, cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body),
            signal: signal ? AbortSignal.any([signal, late]) : late,
        });
        if (response.ok)
            data = await response.json();
    } catch (error) {
        if (signal && signal.aborted)
            throw error;
        if (!gone) {
            gone = true;
            tell("gone");
        }
        throw new ApiError(0, "the server does not answer", "GONE");
    }
    const ms = performance.now() - began;
    if (gone) {
        gone = false;
        tell("back");
    }
    if (!response.ok) {
        const error = await problem(response);
        if (error.needsKey)
            tell("denied", error);
        throw error;
    }
    return { data, ms };
}

const part = encodeURIComponent;

export const search = (text, n, signal) => ask("GET", `api/search?q=${part(text)}&n=${n}`, undefined, signal);
export const recommend = (query, signal) => ask("POST", "api/recommend", query, signal);
export const explainUser = (user, item, signal) => ask("GET", `api/explain/${part(user)}/${part(item)}`, undefined, signal);
export const explainItems = (items, item, signal) => ask("POST", "api/session/explain", { items, item }, signal);
export const neighbours = (item, n, signal) => ask("GET", `api/item/${part(item)}/neighbors?n=${n}`, undefined, signal);
export const item = (id, signal) => ask("GET", `api/item/${part(id)}`, undefined, signal);
export const users = (n) => ask("GET", `api/users?n=${n}`);
export const feedbackOf = (user, signal) => ask("GET", `api/user/${part(user)}/feedback`, undefined, signal);
export const someFeedback = () => ask("GET", "api/feedback?n=1");
export const addFeedback = (list) => ask("POST", "api/feedback", list);
export const dropFeedback = (type, user, id) => ask("DELETE", `api/feedback/${part(type)}/${part(user)}/${part(id)}`);
export const model = () => ask("GET", "api/model");
export const status = () => ask("GET", "api/status");
export const modelDeed = (deed, body) => ask("POST", `api/model/${deed}`, body === undefined ? {} : body);
