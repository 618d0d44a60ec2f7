// Renders a form for each schema in a file, fills it in, and prints the errors and inputs that @rjsf reports.
const { readFileSync } = require("node:fs");
const { createElement } = require("react");
const { renderToStaticMarkup } = require("react-dom/server");
const { default: Form } = require("@rjsf/core");
const { customizeValidator } = require("@rjsf/validator-ajv8");
const { default: Ajv2020 } = require("ajv/dist/2020");

const validator = customizeValidator({ AjvClass: Ajv2020 });
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const results = cases.map(({ schema, data }) => {
  const page = renderToStaticMarkup(createElement(Form, { schema, validator, formData: data }));
  const errors = validator.validateFormData(data, schema).errors.map((error) => error.stack);
  const inputs = [...page.matchAll(/<(?:input|select|textarea)[^>]* id="root_([^"]*)"/g)].map((match) => match[1]);
  return { errors, inputs, unsupported: page.includes("Unsupported field schema"), page };
});
process.stdout.write(JSON.stringify(results));
