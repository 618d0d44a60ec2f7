"use strict";
// Swagger UI restores the log-in when the page is reloaded. If the page contains the key of the demo and the user has not
// logged in, that key is used. The content security policy allows only requests to the host that serves this page.

const place = document.getElementById("viewer");

const darkness = window.matchMedia("(prefers-color-scheme: dark)");
function dress() {
  document.documentElement.classList.toggle("dark-mode", darkness.matches);
}
darkness.addEventListener("change", dress);
dress();

// Set accessible names that Swagger UI omits, and remove names that differ from the displayed text.
function name() {
  for (const field of place.querySelectorAll("tr[data-param-name] select:not([aria-label])"))
    field.setAttribute("aria-label", field.closest("tr").dataset.paramName);
  for (const button of place.querySelectorAll(".close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of place.querySelectorAll(".modal-btn[aria-label]")) button.removeAttribute("aria-label");
  const filter = place.querySelector(".filter input:not([aria-label])");
  if (filter) {
    filter.setAttribute("aria-label", "Filter the operations");
    filter.placeholder = "Filter by section, path, or summary";
  }
}
new MutationObserver(name).observe(place, { childList: true, subtree: true });

// Keep the operations whose section, method, path, or summary contains the text, in any case. Swagger UI only compares tags.
function filtered(titles) {
  return (sections, text) => {
    const wanted = text.trim().toLowerCase();
    const has = (...parts) => parts.join(" ").toLowerCase().includes(wanted);
    const matches = (operation) =>
      has(operation.get("method"), operation.get("path"), operation.getIn(["operation", "summary"]));
    return sections
      .map((section, tag) =>
        has(tag, titles[tag]) ? section : section.update("operations", (operations) => operations.filter(matches)),
      )
      .filter((section) => section.get("operations").size > 0);
  };
}

// Show the titles of the reference, and the path of an operation as text, because a button must not contain a link. Hide
// Swagger UI's header and its list of servers, because this page has its own header and a single server.
function adaptation(titles) {
  const nothing = () => () => null;
  return ({ React }) => ({
    fn: { opsFilter: filtered(titles) },
    wrapComponents: {
      DeepLink: () => ({ text }) => React.createElement("span", null, titles[text] ?? text),
      InfoContainer: nothing,
      ServersContainer: nothing,
    },
  });
}

async function show() {
  const answer = await fetch(place.dataset.document);
  if (!answer.ok) throw new Error(answer.statusText);
  const spec = { ...(await answer.json()), servers: [{ url: window.location.origin }] };
  const ui = SwaggerUIBundle({
    spec,
    domNode: place,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [adaptation(Object.fromEntries(spec.tags.map((tag) => [tag.name, tag["x-displayName"]])))],
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    syntaxHighlight: { activated: false }, // the colors of the highlighting are hard to read
    defaultModelsExpandDepth: -1, // the reference contains the schemas
    persistAuthorization: true,
    onComplete() {
      const key = place.dataset.demoKey;
      if (key && ui.authSelectors.authorized().isEmpty()) ui.preauthorizeApiKey("apiKey", key);
    },
  });
}

show().catch(() => {
  place.querySelector("[role=status]").textContent = "The operations could not be loaded. Reload the page.";
});
