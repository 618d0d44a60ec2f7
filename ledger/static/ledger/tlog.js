// Verifies proofs of a transparency log with the browser's own cryptography: C2SP signed-note,
// tlog-checkpoint, tlog-cosignature, tlog-policy and tlog-proof, and the Merkle tree of RFC 6962.
// This module accepts only the canonical form.
"use strict";

const Tlog = (() => {
  const LOG_KEY = 1;
  const WITNESS_KEY = 4;
  const MAX_PATH = 63;
  const MAX_CHARACTERS = 65536;
  const utf8 = new TextEncoder();

  const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const isSame = (one, other) => toHex(one) === toHex(other);

  function join(...parts) {
    const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) { whole.set(part, at); at += part.length; }
    return whole;
  }

  const leafHash = (entry) => sha256(join(Uint8Array.of(0), entry));
  const nodeHash = (left, right) => sha256(join(Uint8Array.of(1), left, right));

  function fromBase64(text) {
    let raw;
    try { raw = atob(text); } catch { throw new Error("something is not base64"); }
    if (btoa(raw) !== text) throw new Error("something is not canonical base64");
    return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
  }

  function fromBase64Hash(text) {
    const raw = fromBase64(text);
    if (raw.length !== 32) throw new Error("something is no SHA-256 hash");
    return raw;
  }

  function parseDecimal(text) {
    if (!/^(0|[1-9][0-9]{0,18})$/.test(text) || BigInt(text) >= 1n << 63n) throw new Error(`${text} is no number`);
    return BigInt(text);
  }

  function parseNote(note) {
    const at = note.lastIndexOf("\n\n");
    if (at < 0 || !note.endsWith("\n") || /[\x00-\x09\x0b-\x1f]/.test(note)) throw new Error("the checkpoint is no signed note");
    const lines = note.slice(at + 2, -1).split("\n");
    const signatures = lines.map((line) => {
      const [dash, name, base64, ...more] = line.split(" ");
      if (dash !== "\u2014" || !name || !base64 || more.length) throw new Error("a signature line is malformed");
      const raw = fromBase64(base64);
      if (raw.length < 5) throw new Error("a signature is too short");
      return { name, id: toHex(raw.slice(0, 4)), raw: raw.slice(4) };
    });
    return { text: note.slice(0, at + 1), signatures };
  }

  function parseCheckpoint(text) {
    const lines = text.slice(0, -1).split("\n");
    if (lines.length < 3 || lines.includes("")) throw new Error("a checkpoint has three lines at least");
    return { origin: lines[0], size: parseDecimal(lines[1]), root: fromBase64Hash(lines[2]) };
  }

  async function parseKey(vkey, type) {
    const [, name, id, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) || [];
    if (!name) throw new Error("a key has the form name+id+base64");
    const raw = fromBase64(base64);
    if (raw.length !== 33 || raw[0] !== type) throw new Error(`${name} is no Ed25519 key for this use`);
    if (toHex((await sha256(join(utf8.encode(`${name}\n`), raw))).slice(0, 4)) !== id) throw new Error(`${name} has another id`);
    return { name, id, key: raw.slice(1) };
  }

  async function parsePolicy(text) {
    const policy = { logs: [], witnesses: [], groups: [], quorum: null };
    for (const line of text.split("\n")) {
      const [kind, ...words] = line.split(/[ \t]+/).filter(Boolean);
      if (!kind || kind.startsWith("#")) continue;
      if (kind === "log") policy.logs.push(await parseKey(words[0] || "", LOG_KEY));
      else if (kind === "witness") {
        policy.witnesses.push({ called: words[0], ...(await parseKey(words[1] || "", WITNESS_KEY)) });
      } else if (kind === "group") {
        const [called, threshold, ...members] = words;
        const wanted = { any: 1, all: members.length }[threshold] || Number(threshold);
        if (!(wanted >= 1 && wanted <= members.length)) throw new Error(`the group ${called} can never cosign`);
        policy.groups.push({ called, wanted, members });
      } else if (kind === "quorum" && policy.quorum === null) policy.quorum = words[0];
      else throw new Error(`“${kind}” does not belong there`);
    }
    if (!policy.quorum) throw new Error("there is no quorum");
    return policy;
  }

  function isQuorum(policy, cosigned) {
    const met = new Set(cosigned);
    for (const group of policy.groups) {
      if (new Set(group.members.filter((member) => met.has(member))).size >= group.wanted) met.add(group.called);
    }
    return policy.quorum === "none" || met.has(policy.quorum);
  }

  // Whether this browser supports Ed25519: Chrome since 137, Firefox since 129, Safari since 17.
  const canVerify = crypto.subtle
    ? crypto.subtle.generateKey({ name: "Ed25519" }, false, ["sign", "verify"]).then(() => true, () => false)
    : Promise.resolve(false);

  async function verifies(key, signature, message) {
    const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
    return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, utf8.encode(message));
  }

  // Return the newest signature's value, or null without a signature. Every signature of the key must be valid.
  async function signedBy(key, note, read) {
    const own = note.signatures.filter((one) => one.name === key.name && one.id === key.id);
    let found = null;
    for (const { raw } of own) {
      const { signature, message, said } = read(raw);
      if (!(await verifies(key.key, signature, message))) throw new Error(`the signature of ${key.name} is not its own`);
      found = found === null || said > found ? said : found;
    }
    return found;
  }

  async function checkLog(note, policy) {
    const head = parseCheckpoint(note.text);
    for (const log of policy.logs.filter((one) => one.name === head.origin)) {
      if (await signedBy(log, note, (raw) => ({ signature: raw, message: note.text, said: true }))) return head;
    }
    throw new Error(`no key that you trust signed for ${head.origin}`);
  }

  async function checkWitnesses(note, policy) {
    const times = new Map();
    for (const witness of policy.witnesses) {
      const said = await signedBy(witness, note, (raw) => {
        const time = raw.slice(0, 8).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
        return { signature: raw.slice(8), message: `cosignature/v1\ntime ${time}\n${note.text}`, said: time };
      });
      if (said !== null) times.set(witness.called, said);
    }
    return { times, isMet: isQuorum(policy, times.keys()) };
  }

  function when(seconds) {
    const date = new Date(Number(seconds) * 1000);
    return Number.isNaN(date.getTime()) ? `second ${seconds}` : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  }

  function tellWitnesses(policy, { times, isMet }) {
    if (policy.witnesses.length === 0 && isMet) return "The trusted keys have no witnesses, so none is required.";
    const who = Array.from(times, ([name, at]) => `${name} at ${when(at)}`).join(", ");
    const quorum = isMet ? "That is the quorum." : `The quorum, ${policy.quorum}, is not reached.`;
    return `${times.size} of ${policy.witnesses.length} witnesses cosigned${who ? `: ${who}` : ""}. ${quorum}`;
  }

  // RFC 9162, section 2.1.3.2.
  async function climb(leaf, index, size, path) {
    if (index >= size) throw new Error(`a tree of ${size} entries has no entry ${index}`);
    let node = leaf, position = index, last = size - 1n;
    for (const sibling of path) {
      if (last === 0n) throw new Error("the path is too long");
      if (position & 1n || position === last) {
        node = await nodeHash(sibling, node);
        while (!(position & 1n) && position) { position >>= 1n; last >>= 1n; }
      } else node = await nodeHash(node, sibling);
      position >>= 1n;
      last >>= 1n;
    }
    if (last) throw new Error("the path is too short");
    return node;
  }

  function parseProof(text) {
    const at = text.indexOf("\n\n");
    const lines = text.slice(0, Math.max(at, 0)).split("\n");
    if (text.length > MAX_CHARACTERS || at < 0 || lines.shift() !== "c2sp.org/tlog-proof@v1") throw new Error("this is no proof file");
    const extra = lines[0] && lines[0].startsWith("extra ") ? fromBase64Hash(lines.shift().slice(6)) : null;
    if (!extra) throw new Error("it lacks the commitment in its extra line");
    if (!lines[0] || !lines[0].startsWith("index ")) throw new Error("it has no index line");
    const index = parseDecimal(lines.shift().slice(6));
    if (lines.length > MAX_PATH) throw new Error("the path is too long");
    return { index, path: lines.map(fromBase64Hash), extra, note: parseNote(text.slice(at + 2)) };
  }

  // Return the five steps, up to the first failure. `ok` is null if this browser can't verify Ed25519.
  async function checkProof(text, reportHash, policyText) {
    const steps = [];
    const take = async (name, work) => {
      try {
        const detail = await work();
        steps.push(typeof detail === "string" ? { name, ok: true, detail } : { name, ...detail });
      } catch (error) {
        steps.push({ name, ok: false, detail: `${error.message}.` });
      }
      return steps.at(-1).ok !== false;
    };
    let proof, policy, head, leaf;
    const unknown = { ok: null, detail: "This browser cannot check Ed25519 signatures: use a newer one, or `manage.py verify` on the command line." };
    const known = await canVerify;
    await take("file", async () => {
      proof = parseProof(text);
      return `A proof for entry ${proof.index}, ${proof.path.length} hashes long.`;
    }) && await take("checkpoint", async () => {
      policy = await parsePolicy(policyText);
      head = known ? await checkLog(proof.note, policy) : parseCheckpoint(proof.note.text);
      return known ? `${head.origin} signed a tree of ${head.size} entries.` : unknown;
    }) && await take("witnesses", async () => {
      if (!known) return unknown;
      const found = await checkWitnesses(proof.note, policy);
      return { ok: found.isMet, detail: tellWitnesses(policy, found) };
    }) && await take("leaf", async () => {
      leaf = await leafHash(join(reportHash, proof.extra));
      return `The report and the commitment result in the leaf ${toHex(leaf).slice(0, 16)}\u2026`;
    }) && await take("inclusion", async () => {
      if (!isSame(await climb(leaf, proof.index, head.size, proof.path), head.root)) throw new Error("The path does not end in the signed root: this is not the report that was anchored");
      return "The path from the leaf ends in the root of the checkpoint.";
    });
    return steps;
  }

  // Verify the checkpoint on a page. Return a sentence, and `ok` as above.
  async function checkNote(text, policyText) {
    if (!(await canVerify)) return { ok: null, detail: "This browser cannot check Ed25519 signatures, so nobody has checked them here." };
    try {
      const note = parseNote(text), policy = await parsePolicy(policyText), head = await checkLog(note, policy);
      const found = await checkWitnesses(note, policy);
      const signed = `Checked in this browser: ${head.origin} signed this tree of ${head.size} entries.`;
      return { ok: true, times: found.times, root: toHex(head.root), detail: policy.witnesses.length ? `${signed} ${tellWitnesses(policy, found)}` : signed };
    } catch (error) {
      return { ok: false, detail: `Checked in this browser: ${error.message}. Do not trust this page.` };
    }
  }

  return { checkProof, checkNote, leafHash, nodeHash, sha256, toHex };
})();
