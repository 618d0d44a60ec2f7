"use strict";
// Swagger UI. A log-in is kept over a reload; where the page knows the key of the demo and nobody has logged in, that is
// the log-in. Requests go where this page is, under whichever name: no other host is let in by its policy.

const place = document.getElementById("viewer");

const darkness = window.matchMedia("(prefers-color-scheme: dark)");
function dress() {
  document.documentElement.classList.toggle("dark-mode", darkness.matches);
}
darkness.addEventListener("change", dress);
dress();

// Names for what Swagger UI leaves without one, or calls by another word than it shows.
function name() {
  for (const field of place.querySelectorAll("tr[data-param-name] select:not([aria-label])"))
    field.setAttribute("aria-label", field.closest("tr").dataset.paramName);
  for (const button of place.querySelectorAll(".close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of place.querySelectorAll(".modal-btn[aria-label]")) button.removeAttribute("aria-label");
}
new MutationObserver(name).observe(place, { childList: true, subtree: true });

// A button must hold no link, which is what the path of an operation would be; and this page has its own head and one
// server.
function adaptation({ React }) {
  const nothing = () => () => null;
  return {
    wrapComponents: {
      DeepLink: () => ({ text }) => React.createElement("span", null, text),
      InfoContainer: nothing,
      ServersContainer: nothing,
    },
  };
}

async function show() {
  const answer = await fetch(place.dataset.document);
  const spec = { ...(await answer.json()), servers: [{ url: window.location.origin }] };
  const ui = SwaggerUIBundle({
    spec,
    domNode: place,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [adaptation],
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    syntaxHighlight: { activated: false }, // its colours are hard to read
    defaultModelsExpandDepth: -1, // the schemas stand in the reference
    persistAuthorization: true,
    onComplete() {
      const key = place.dataset.demoKey;
      if (key && ui.authSelectors.authorized().isEmpty()) ui.preauthorizeApiKey("apiKey", key);
    },
  });
}

show();
