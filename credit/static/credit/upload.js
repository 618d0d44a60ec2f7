"use strict";

// The progress of a large upload. Without this script, or if the connection fails here, the browser sends the form.
const LARGE_BYTES = 500_000;

document.addEventListener("submit", (event) => {
  const form = event.target;
  const file = form.querySelector("input[type=file]")?.files[0];
  if (!file || file.size < LARGE_BYTES) return;
  event.preventDefault();
  const progress = document.createElement("progress");
  progress.max = 1;
  progress.setAttribute("aria-label", form.querySelector("button").textContent);
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (sent) => (progress.value = sent.loaded / sent.total));
  request.addEventListener("error", () => form.submit());
  // The page shows a message once, so the page of this answer is shown.
  request.addEventListener("load", () => {
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const main = page.querySelector("main");
    if (!main) return form.submit();
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    history.replaceState(null, "", request.responseURL);
    const result = main.querySelector(".message, .error");
    if (result) {
      result.tabIndex = -1;
      result.focus();
    }
  });
  request.open("POST", form.action);
  request.send(new FormData(form));
  form.querySelector("button").replaceWith(progress);
});
