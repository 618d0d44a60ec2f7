// Compiles the Solidity file of the first argument, and prints {"abi", "bytecode"} of its contract as JSON.
const fs = require("fs");
const path = require("path");
const solc = require("solc");

const file = process.argv[2];
const name = path.basename(file, ".sol");
const input = {
  language: "Solidity",
  sources: { [name]: { content: fs.readFileSync(file, "utf8") } },
  settings: {
    optimizer: { enabled: true, runs: 200 },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const problems = (output.errors || []).filter((problem) => problem.severity === "error");
if (problems.length) {
  console.error(problems.map((problem) => problem.formattedMessage).join("\n"));
  process.exit(1);
}
const contract = output.contracts[name][name];
console.log(JSON.stringify({ abi: contract.abi, bytecode: "0x" + contract.evm.bytecode.object }));
