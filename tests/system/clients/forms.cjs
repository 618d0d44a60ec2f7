// Draws a form of each schema of the file named, fills it in, and says what @rjsf makes of it.
const { readFileSync } = require("node:fs");
const { createElement } = require("react");
const { renderToStaticMarkup } = require("react-dom/server");
const { default: Form } = require("@rjsf/core");
const { customizeValidator } = require("@rjsf/validator-ajv8");
const { default: Ajv2020 } = require("ajv/dist/2020");

const validator = customizeValidator({ AjvClass: Ajv2020 });
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const told = cases.map(({ schema, data }) => {
  const page = renderToStaticMarkup(createElement(Form, { schema, validator, formData: data }));
  const errors = validator.validateFormData(data, schema).errors.map((one) => one.stack);
  const inputs = [...page.matchAll(/<(?:input|select|textarea)[^>]* id="root_([^"]*)"/g)].map((one) => one[1]);
  return { errors, inputs, unsupported: page.includes("Unsupported field schema"), page };
});
process.stdout.write(JSON.stringify(told));
