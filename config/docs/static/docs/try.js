"use strict";
// Swagger UI. A log-in is kept over a reload; where the page knows the key of the demo and nobody has logged in, that is
// the log-in. Requests go where this page is, under whichever name: no other host is let in by its policy.

const place = document.getElementById("operations");

async function show() {
  const answer = await fetch(place.dataset.document);
  const spec = { ...(await answer.json()), servers: [{ url: window.location.origin }] };
  const ui = SwaggerUIBundle({
    spec,
    domNode: place,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    persistAuthorization: true,
    onComplete() {
      const key = place.dataset.demoKey;
      if (key && ui.authSelectors.authorized().isEmpty()) ui.preauthorizeApiKey("apiKey", key);
    },
  });
}

show();
