"use strict";

// Enables the checkbox that shows the passwords of its form. Without this script, the checkbox is hidden.
for (const label of document.querySelectorAll("label.reveal")) {
  const form = label.closest("form");
  const box = label.querySelector("input");
  const passwords = form.querySelectorAll("[type=password]");
  const update = () => passwords.forEach((field) => (field.type = box.checked ? "text" : "password"));
  const hide = () => {
    box.checked = false;
    update();
  };
  hide(); // browsers restore checkboxes when a user goes back
  box.addEventListener("change", update);
  form.addEventListener("submit", hide); // browsers store the values of text fields
  label.hidden = false;
}
