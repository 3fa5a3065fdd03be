// page_world.mjs - what page.mjs needs around the page: servers that start and stop, a browser, a list of checks.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// {program: {NAME: {command: [...], environment: {...}}}, modules, chromium, shots}; "{port}" stands for the port.
export const world = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(join(world.modules, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

mkdirSync(world.shots, { recursive: true });

// ---- Servers

export const freePort = () => new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
        const { port } = server.address();
        server.close(() => resolve(port));
    });
});

const running = new Set();

// Starts a server of the world and waits until it is ready. Returns {base, stop()}.
export async function start(name, port) {
    const at = port || await freePort();
    const { command, environment } = world.program[name];
    const child = spawn(command[0], command.slice(1).map((word) => word.replace("{port}", String(at))),
        { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...environment } });
    let said = "", ended = null;
    child.stderr.on("data", (text) => { said = (said + text).slice(-4000); });
    const end = new Promise((resolve) => child.on("exit", (code, signal) => { ended = signal || code; running.delete(child); resolve(ended); }));
    running.add(child);
    const base = `http://127.0.0.1:${at}/`;
    for (let n = 0; n < 600; n++) {
        if (ended !== null)
            throw new Error(`the server ${name} ended with ${ended}: ${said}`);
        const ready = await fetch(`${base}api/health/ready`).then((answer) => answer.ok, () => false);
        if (ready)
            return { base, port: at, said: () => said, stop: async () => { child.kill("SIGTERM"); return end; } };
        await pause(100);
    }
    throw new Error(`the server ${name} is not ready after 60 s: ${said}`);
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export async function ask(base, method, path, body, key) {
    const answer = await fetch(base + path, {
        method, headers: { "Content-Type": "application/json", ...(key ? { "X-API-Key": key } : {}) },
        body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok)
        throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
}

// ---- Browser

let browser, profile;

export async function openBrowser() {
    profile = mkdtempSync(join(tmpdir(), "inmo-page-"));
    browser = await chromium.launch({
        executablePath: world.chromium,
        args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", `--disk-cache-dir=${profile}`],
    });
}

export async function closeAll() {
    if (browser)
        await browser.close();
    for (const child of running)
        child.kill("SIGKILL");
    if (profile)
        rmSync(profile, { recursive: true, force: true });
}

export const DESKTOP = { width: 1440, height: 900 }, PHONE = { width: 360, height: 740 };

// A page in a context of its own. faults collects what should not be: errors in the console, exceptions, alerts, requests
// that leave the server. Requests that fail are told by the console, too; silent: whether that is expected.
export async function openPage(base, { size = DESKTOP, scheme = "light", reduced = false, silent = false } = {}) {
    const context = await browser.newContext({
        viewport: size, colorScheme: scheme, reducedMotion: reduced ? "reduce" : "no-preference", hasTouch: size === PHONE, locale: "en-GB",
    });
    const page = await context.newPage(), faults = [];
    page.setDefaultTimeout(10000);
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type()) && !(silent && /Failed to load resource/.test(message.text())))
            faults.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => faults.push(`exception: ${error.stack}`));
    page.on("dialog", (dialog) => { faults.push(`an alert: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => { if (!request.url().startsWith(base)) faults.push(`a request to ${request.url()}`); });
    return { page, faults, close: () => context.close() };
}

// What axe-core has to say about WCAG 2.2 A and AA, as one line each.
export async function accessibility(page) {
    await page.evaluate(axe); // by the debugger, which the content security policy lets through
    const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
    return found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.any.map((any) => any.message).join(" ")}`).join("; ")}`);
}

export const shot = (page, name, whole) => page.screenshot({ path: join(world.shots, `${name}.png`), fullPage: Boolean(whole) });

// ---- Checks

const failed = [];
let passed = 0;

export async function check(name, deed) {
    const began = Date.now();
    try {
        await deed();
        passed++;
        console.log(`ok      ${name} (${Date.now() - began} ms)`);
    } catch (error) {
        failed.push(name);
        console.log(`FAILED  ${name}\n        ${String(error.stack || error).split("\n").slice(0, 12).join("\n        ")}`);
    }
}

export function summary() {
    console.log(`page: ${passed} passed, ${failed.length} failed`);
    return failed.length || passed === 0 ? 1 : 0;
}
