// key.js - asks for an API key in a dialog. Several who need one at once share the question.
import * as api from "./api.js";
import { $, sentence } from "./dom.js";

let asking = null;

// Resolves to whether a key was given.
export function askKey(why) {
    if (asking)
        return asking;
    const dialog = $("key-dialog"), before = document.activeElement;
    $("key-why").textContent = sentence(why);
    $("key").value = "";
    dialog.returnValue = "";
    asking = new Promise((resolve) => {
        dialog.addEventListener("close", () => {
            const given = dialog.returnValue === "given" && $("key").value.trim();
            if (given)
                api.setKey(given);
            $("key").value = "";
            asking = null;
            if (before && before.isConnected)
                before.focus();
            resolve(Boolean(given));
        }, { once: true });
    });
    dialog.showModal();
    $("key").focus();
    return asking;
}

$("key-cancel").addEventListener("click", () => $("key-dialog").close(""));
$("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    $("key-dialog").close($("key").value.trim() ? "given" : "");
});
