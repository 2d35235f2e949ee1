/* Holds the JavaScript client to the vectors that Python made. Runs in Node and in browsers. */
(function (root) {
  "use strict";

  /** Run with exactly these words as the generator's, and say how many were left. */
  async function replay(words, run) {
    let place = 0;
    const given = (array) => {
      for (let i = 0; i < array.length; i += 1, place += 1) {
        if (place >= words.length) throw new Error("the recording ran out");
        array[i] = BigInt(`0x${words[place]}`);
      }
      return array;
    };
    Object.defineProperty(root.crypto, "getRandomValues", { value: given, configurable: true });
    try {
      const result = await run();
      return { result, left: words.length - place };
    } finally {
      delete root.crypto.getRandomValues; // the real one is the prototype's
    }
  }

  async function checkCase(task, { value, nonce, words, report, refused }) {
    if (refused) {
      try {
        await replay([], () => task.randomize(value));
      } catch (error) {
        return error.name === "ValueRefused" ? null : `refused with ${error}`;
      }
      return "was not refused";
    }
    const { result, left } = await replay(words, () => task.randomize(value, { nonce }));
    if (JSON.stringify(result) !== report) return `reported ${JSON.stringify(result)}, not ${report}`;
    return left ? `left ${left} words` : null;
  }

  /** One report through a person's client, and all that can be seen of the ledger after it. */
  async function checkStep(discreet, me, storage, step) {
    const { task, value, nonce, words, report, refused, says, ledger, lifetime, amounts } = step;
    const read = discreet.readTask(task);
    try {
      const { result, left } = await replay(words, () => me.randomize(read, value, { nonce }));
      if (JSON.stringify(result) !== report) return `reported ${JSON.stringify(result)}, not ${report}`;
      if (left) return `left ${left} words`;
    } catch (error) {
      if (error.name !== refused || (says && error.message !== says)) return `refused with ${error}`;
    }
    if (storage.text !== ledger) return `wrote ${storage.text}, not ${ledger}`;
    const cost = me.lifetime(read);
    const told = cost && [cost.reports, cost.values, `${cost.oneReport}`, `${cost.samePattern}`, cost.anyHistory];
    if (JSON.stringify(told) !== JSON.stringify(lifetime)) return `has a lifetime of ${told}, not ${lifetime}`;
    const shown = [me.total, me.spent, me.left].join(" ");
    return shown === amounts.join(" ") ? null : `shows ${shown}, not ${amounts}`;
  }

  let pages = 0; // ledgers of one name would be one ledger to the browser's locks
  class Storage {
    text = null;
    getItem() {
      return this.text;
    }
    setItem(name, text) {
      this.text = text;
    }
  }

  /** How many vectors were checked, and sentences about those that failed. */
  root.checkVectors = async function (discreet, { vectors, hashes, lives }) {
    const failures = [];
    let checked = 0;
    const check = async (name, run) => {
      checked += 1;
      try {
        const problem = await run();
        if (problem) failures.push(`${name}: ${problem}`);
      } catch (error) {
        failures.push(`${name}: ${error.stack}`);
      }
    };
    for (const [text, hash] of [...hashes, ...vectors.map((one) => [one.task, one.hash])]) {
      await check(text, () => (discreet.readTask(text).hash === hash ? null : "has another hash"));
      await check(text, () => (discreet.readTask(JSON.parse(text)).hash === hash ? null : "has another hash as an object"));
    }
    for (const { task, cases } of vectors) {
      const read = discreet.readTask(task);
      for (const [number, one] of cases.entries()) await check(`${task} case ${number}`, () => checkCase(read, one));
    }
    for (const { name, epsilon, words, ledger, steps } of lives) {
      const storage = new Storage();
      let me;
      pages += 1;
      await check(name, async () => {
        const { result, left } = await replay(words, () => discreet.openClient({ storage, epsilon, name: `${name} ${pages}` }));
        me = result;
        return storage.text === ledger && !left ? null : `began ${storage.text}, not ${ledger}`;
      });
      for (const [number, step] of steps.entries()) {
        await check(`${name} step ${number}`, () => checkStep(discreet, me, storage, step));
      }
    }
    return { checked, failures };
  };
})(globalThis);
