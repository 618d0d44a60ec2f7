"use strict";

// Focus the first invalid field, or the first field if all are valid. On a narrow screen, the focus of a valid field would
// open the keyboard.
const first = document.querySelector("[data-first]");
if (first?.getAttribute("aria-invalid") === "true") first.focus();
else if (matchMedia("(min-width: 64rem)").matches) first?.focus({ preventScroll: true });

// When a figure changes, the server computes the terms. Without this script, a button requests the same.
const form = document.querySelector("form[data-preview]");
if (form) {
  let latest = 0;
  const compute = async () => {
    const number = ++latest;
    const fields = new FormData(form);
    fields.append("preview", "1");
    const response = await fetch(location.href, { method: "POST", body: fields, credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const terms = page.getElementById("terms");
    if (number !== latest || !terms) return;  // a later figure, or a session that has ended
    for (const row of form.querySelectorAll("[data-figure]")) {
      row.querySelector(".errorlist")?.remove();
      const errors = page.querySelector(`[data-figure="${CSS.escape(row.dataset.figure)}"] .errorlist`);
      if (errors) row.append(errors);
    }
    document.getElementById("terms").innerHTML = terms.innerHTML;
  };
  for (const row of form.querySelectorAll("[data-figure]")) row.addEventListener("change", compute);
}

// A button inserts the text of the chosen reply template into its field. Without this script, the server does the same.
for (const select of document.querySelectorAll("select[data-inserts]")) {
  const button = select.parentElement.querySelector("input[type=submit]");
  button.addEventListener("click", (event) => {
    event.preventDefault();
    const field = select.form.elements[select.dataset.inserts];
    const text = select.selectedOptions[0].dataset.text;
    if (text && !field.value.includes(text)) field.value = [field.value.trimEnd(), text].filter(Boolean).join("\n");
    select.value = "";
    field.focus();
  });
}
