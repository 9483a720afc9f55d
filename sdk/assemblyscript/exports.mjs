// A transform of the AssemblyScript compiler: gives the exports their names in the contract, which no function can have in the language,
// and drops all others.

const CONTRACT = {
  onList: "resources#list",
  onTemplates: "resources#templates",
  onRead: "resources#read",
  onSubscribe: "subscriptions#subscribe",
  onUnsubscribe: "subscriptions#unsubscribe",
  onComplete: "completions#complete",
  onFired: "timer-handler#fired",
  onReceive: "webhook-handler#receive",
};
/** Those that answer with nothing: there is nothing to release afterwards. */
const SILENT = ["onUnsubscribe", "onFired"];
/** What is called by these very names. */
const KEPT = ["memory", "cabi_realloc", "_initialize"];

export default class Exports {
  afterCompile(module) {
    const functions = new Map();
    for (let at = module.getNumExports() - 1; at >= 0; at--) {
      const { name, value } = this.binaryen.getExportInfo(module.getExportByIndex(at));
      functions.set(name, value);
      if (!KEPT.includes(name)) module.removeExport(name);
    }
    for (const [name, contract] of Object.entries(CONTRACT)) {
      if (!functions.has(name)) continue;
      const [there, own] = contract.split("#");
      const exported = `wharf:provider/${there}@0.1.0#${own}`;
      module.addFunctionExport(functions.get(name), exported);
      if (!SILENT.includes(name)) module.addFunctionExport(functions.get("onReturned"), `cabi_post_${exported}`);
    }
  }
}
