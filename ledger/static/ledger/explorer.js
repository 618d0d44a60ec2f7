// Hashes a chosen file in this browser and looks it up; and recomputes the path that the page shows,
// so that the page need not be believed. Without JavaScript the page still answers look-ups.
"use strict";

// The largest report that can be anchored; a larger file cannot be one.
const MAX_BYTES = 10 * 1024 * 1024;

const toHex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
const sha256 = async (bytes) => toHex(await crypto.subtle.digest("SHA-256", bytes));

// RFC 6962: a leaf is hashed behind 0x00, a pair of nodes behind 0x01.
const hashWith = (prefix, ...parts) => sha256(fromHex(prefix + parts.join("")));

async function lookUp(file, say) {
  if (file.size === 0 || file.size > MAX_BYTES) {
    say(`${file.name} cannot be a report: reports have 1 byte to 10 MiB.`);
    return;
  }
  say(`Hashing ${file.name} …`);
  location.assign(`/?hash=${await sha256(await file.arrayBuffer())}#result`);
}

function offerDrop(zone) {
  const input = document.getElementById("file");
  const state = document.getElementById("drop-state");
  const say = (text) => { state.textContent = text; };
  const take = (files) => {
    if (files.length) lookUp(files[0], say).catch(() => say("This file could not be read."));
  };
  input.addEventListener("change", () => take(input.files));
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) {
    zone.addEventListener(name, () => zone.classList.remove("over"));
  }
  zone.addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files); });
  zone.hidden = false;
}

async function climb(path) {
  const asked = document.getElementById("hash").value.trim().toLowerCase();
  let node = await hashWith("00", path.dataset.entry);
  let holds = path.dataset.entry.startsWith(asked) && node === path.dataset.leaf;
  for (const rung of path.querySelectorAll(".pair")) {
    const pair = rung.dataset.side === "left" ? [rung.dataset.sibling, node] : [node, rung.dataset.sibling];
    node = await hashWith("01", ...pair);
    const right = node === rung.dataset.parent;
    rung.querySelector(".tick").classList.add(right ? "done" : "wrong");
    holds = holds && right;
  }
  holds = holds && node === path.dataset.root;
  const verdict = document.getElementById("checked");
  verdict.textContent = holds
    ? "Recomputed in this browser: the path leads from this hash to the signed root."
    : "Recomputed in this browser: the path does not hold. Do not trust this page.";
  verdict.classList.toggle("wrong", !holds);
}

// Browsers hash only on secure pages (HTTPS, or this machine).
if (globalThis.crypto && crypto.subtle) {
  offerDrop(document.getElementById("drop"));
  const path = document.getElementById("climb");
  if (path) climb(path);
}
