// The page verifies itself: it hashes selected files locally, recomputes the displayed path, verifies signature and
// cosignatures, and checks saved proofs. No file leaves the browser. Without JavaScript, look-ups still work.
"use strict";

// The largest report that can be anchored.
const MAX_BYTES = 10 * 1024 * 1024;
const PROOF_MAX_BYTES = 64 * 1024;
const PROOF_BEGINS = "c2sp.org/tlog-proof@v1\n";
const MARKS = new Map([[true, "✓"], [false, "✗"], [null, "–"]]);

const find = (id) => document.getElementById(id);
const fromHex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));

async function hashOf(file) {
  if (file.size === 0 || file.size > MAX_BYTES) throw new Error(`${file.name} cannot be a report: reports have 1 byte to 10 MiB.`);
  return Tlog.sha256(await file.arrayBuffer());
}

async function isProof(file) {
  return file.size <= PROOF_MAX_BYTES && (await file.slice(0, PROOF_BEGINS.length).text()) === PROOF_BEGINS;
}

function offerDrop(zone, input, take) {
  input.addEventListener("change", () => { take(Array.from(input.files)); });
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); take(Array.from(event.dataTransfer.files)); });
  zone.hidden = false;
}

async function lookUp([file]) {
  const say = (text) => { find("drop-state").textContent = text; };
  if (!file) return;
  try {
    if (await isProof(file)) {
      await takeKept([file]);
      find("kept").scrollIntoView();
      return;
    }
    say(`Hashing ${file.name} …`);
    location.assign(`/?hash=${Tlog.toHex(await hashOf(file))}#result`);
  } catch (error) {
    say(error.message || "This file could not be read.");
  }
}

// --- A saved proof ------------------------------------------------------------------------------------------------

const kept = { proof: null, report: null };

async function takeKept(files) {
  for (const file of files) kept[(await isProof(file)) ? "proof" : "report"] = file;
  const missing = [kept.proof ? "" : "the proof file", kept.report ? "" : "the report"].filter(Boolean).join(" and ");
  const have = [kept.proof, kept.report].filter(Boolean).map((file) => file.name).join(" and ");
  find("kept-state").textContent = missing ? `${have ? `${have}: ` : ""}now ${missing}.` : `Checking ${have} …`;
  find("kept-steps").replaceChildren();
  find("kept-verdict").textContent = "";
  if (!missing) await checkKept();
}

async function checkKept() {
  const verdict = find("kept-verdict");
  try {
    const hash = await hashOf(kept.report);
    const steps = await Tlog.checkProof(await kept.proof.text(), hash, find("policy").value);
    find("kept-steps").replaceChildren(...steps.map(stepItem));
    find("kept-state").textContent = `${kept.proof.name} and ${kept.report.name}`;
    const holds = steps.every((step) => step.ok === true), fails = steps.some((step) => step.ok === false);
    verdict.textContent = holds
      ? "Proven: the log contained this report, unchanged, when the checkpoint was signed."
      : fails ? "Not proven: the step marked ✗ does not hold." : "The path holds, but this browser cannot check who signed it.";
    verdict.classList.toggle("wrong", fails);
    verdict.classList.toggle("unsure", !holds && !fails);
  } catch (error) {
    find("kept-state").textContent = error.message || "The files could not be read.";
  }
}

function stepItem(step) {
  const item = document.createElement("li");
  item.className = step.ok === null ? "unsure" : step.ok ? "done" : "wrong";
  const [mark, name, detail] = ["span", "strong", "span"].map((kind) => document.createElement(kind));
  mark.className = "mark";
  mark.textContent = MARKS.get(step.ok);
  name.textContent = step.name;
  detail.textContent = step.detail;
  item.append(mark, name, detail);
  return item;
}

// --- The displayed path --------------------------------------------------------------------------------------------

async function climb(path) {
  const asked = find("hash").value.trim().toLowerCase();
  let node = await Tlog.leafHash(fromHex(path.dataset.entry));
  let holds = path.dataset.entry.startsWith(asked) && Tlog.toHex(node) === path.dataset.leaf;
  for (const rung of path.querySelectorAll(".pair")) {
    const sibling = fromHex(rung.dataset.sibling);
    node = await (rung.dataset.side === "left" ? Tlog.nodeHash(sibling, node) : Tlog.nodeHash(node, sibling));
    const right = Tlog.toHex(node) === rung.dataset.parent;
    rung.querySelector(".tick").classList.add(right ? "done" : "wrong");
    holds = holds && right;
  }
  const signed = await Tlog.checkNote(find("proof-note").textContent, find("policy").value);
  // Compare with the signed root, not only with the root in the page.
  holds = holds && Tlog.toHex(node) === path.dataset.root && signed.ok !== false && (signed.ok === null || signed.root === path.dataset.root);
  const verdict = find("checked");
  verdict.textContent = holds
    ? `Recomputed in this browser: the path leads from this hash to the signed root. ${signed.detail}`
    : "Recomputed in this browser: the path does not hold. Do not trust this page.";
  verdict.classList.toggle("wrong", !holds);
}

async function checkNewest(note) {
  const found = await Tlog.checkNote(note.textContent, find("policy").value);
  const verdict = find("newest-checked");
  verdict.textContent = found.detail;
  verdict.classList.toggle("wrong", found.ok === false);
  verdict.classList.toggle("unsure", found.ok === null);
  for (const tick of document.querySelectorAll("[data-witness]")) {
    if (found.times && found.times.has(tick.dataset.witness)) tick.classList.add("done");
  }
}

// Browsers hash only on secure pages (HTTPS, or this machine).
if (globalThis.crypto && crypto.subtle) {
  offerDrop(find("drop"), find("file"), lookUp);
  offerDrop(find("kept-drop"), find("kept-files"), takeKept);
  find("policy").addEventListener("change", () => { if (kept.proof && kept.report) checkKept(); });
  find("kept").hidden = false;
  const path = find("climb"), note = find("newest-note");
  if (path) climb(path);
  if (note) checkNewest(note);
}
