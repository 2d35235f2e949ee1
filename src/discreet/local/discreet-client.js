/*
 * The client of discreet's local privacy, for browsers and Node: one file, no dependencies.
 *
 * It reads the JSON of a task, as task.to_json() wrote it in Python, and randomises one person's answer before it leaves the
 * device. It knows frequencies, bits, means (not by Laplace noise), distributions, heavy hitters and attributes of these:
 *
 *     <script src="discreet-client.js"></script>                                    a classic script, or
 *     import "./discreet-client.js"                                                 a module: both set globalThis.discreet
 *     const discreet = require("./discreet-client.js")                              Node
 *
 *     const task = discreet.readTask(await (await fetch("hair.task.json")).text());
 *     const report = task.randomize("red");                                         each call costs the person task.epsilon
 *     await fetch("/reports", { method: "POST", body: JSON.stringify(report) });
 *
 * The guarantee is Python's: for any two answers of one person, a report is at most e^epsilon times likelier for the one than for
 * the other. Coins are exact: 64 random bits are compared with the binary digits of the probability, which are computed in whole
 * numbers as far as they are needed. Random bits come from crypto.getRandomValues and from nowhere else. Given the same random
 * words, this file and Python make the same report. Arithmetic on large integers takes time that depends on the numbers: do not
 * let a stranger time a client to the microsecond.
 */
(function (root, make) {
  "use strict";
  const made = make(root);
  root.discreet = made;
  if (typeof module === "object" && module !== null && typeof module.exports === "object") module.exports = made;
})(globalThis, function (root) {
  "use strict";

  const VERSION = 1;
  const MOST_VALUES = 2 ** 24; // of a domain, and vectors of a projective geometry
  const LARGEST_EPSILON = 1000n;
  const SMALLEST_EPSILON = 10n ** 100n; // its inverse
  const PATIENCE = 2048; // random digits or rounds that a working generator never needs
  const MASK = (1n << 64n) - 1n;

  function refusal(name, message) {
    const error = new Error(message);
    error.name = name;
    return error;
  }

  function strange(what) {
    const instead = "Use what task.to_json() wrote, or a newer client.";
    return refusal("TaskRefused", `This is not a task that this client can read: ${what}. ${instead}`);
  }

  function demand(holds, what) {
    if (!holds) throw strange(what);
  }

  // ---- Random words, and exact coins made of them -----------------------------------------------------------------------

  function words(count) {
    if (!root.crypto || typeof root.crypto.getRandomValues !== "function") {
      throw refusal("EntropyError", "There is no crypto.getRandomValues here, and nothing else will do; nothing was randomised.");
    }
    const drawn = [];
    while (drawn.length < count) {
      const some = new BigUint64Array(Math.min(count - drawn.length, 8192)); // 64 KB is the most that one call gives
      root.crypto.getRandomValues(some);
      for (const word of some) drawn.push(word);
    }
    return drawn;
  }

  const word = () => words(1)[0];

  /** Whole lower and upper bounds of e^(num / den) 2^work, for 0 < num / den <= 1000; also work, which is at least bits. */
  function exponential(num, den, bits) {
    const work = bits + 32n;
    let halvings = 0n;
    while (num > den << halvings) halvings += 1n;
    const argument = (num << work) / (den << halvings); // at most 1
    let [low, high] = [1n << work, 1n << work];
    for (let term = low, n = 1n; term > 0n; n += 1n) {
      term = ((term * argument) >> work) / n;
      low += term;
    }
    let term = high;
    for (let n = 1n; term > 4n; n += 1n) {
      term = (((term * (argument + 1n)) >> work) + 1n) / n + 1n;
      high += term;
    }
    high += term; // the rest of the series is at most as large as its last term
    for (; halvings > 0n; halvings -= 1n) {
      low = (low * low) >> work;
      high = ((high * high) >> work) + 1n;
    }
    return [low, high, work];
  }

  /** floor(p 2^count) for an irrational p, whose bounds rise with the precision until they agree; remembered. */
  function digitsOf(epsilon, floors) {
    const known = new Map();
    return function digits(count) {
      for (let bits = BigInt(count) + 64n; !known.has(count); bits *= 2n) {
        const [low, high, work] = exponential(epsilon.num, epsilon.den, bits);
        const [one, other] = [floors(low, work, BigInt(count)), floors(high, work, BigInt(count))];
        if (one === other) known.set(count, one);
      }
      return known.get(count);
    };
  }

  /** The chance inside e^epsilon / (inside e^epsilon + outside) of one of the likely reports. */
  function likely(inside, outside, epsilon) {
    const [a, b] = [BigInt(inside), BigInt(outside)];
    return digitsOf(epsilon, (e, work, count) => ((a * e) << count) / (a * e + (b << work)));
  }

  /** The chance 1 / (e^epsilon + 1) of a bit that is not the own one. */
  function lie(epsilon) {
    return digitsOf(epsilon, (e, work, count) => (1n << (work + count)) / ((1n << work) + e));
  }

  /** The chance 1 - e^(-epsilon / 2) of a piecewise report. */
  function unlikeHalf({ num, den }) {
    return digitsOf({ num, den: 2n * den }, (e, work, count) => ((e - (1n << work)) << count) / e);
  }

  /** Coins that are true with the probability whose digits these are: uniform digits are compared with them until they differ. */
  function coins(digits, count) {
    return words(count).map((first) => {
      let drawn = first;
      for (let known = 64; known < PATIENCE; known += 64) {
        const bound = digits(known);
        if (drawn !== bound) return drawn < bound;
        drawn = (drawn << 64n) | word();
      }
      throw refusal("EntropyError", "Two thousand random bits did not settle one coin; the generator cannot be working.");
    });
  }

  const coin = (digits) => coins(digits, 1)[0];

  const bitLength = (number) => (number > 0 ? number.toString(2).length : 0);

  /** Uniform on 0 .. below - 1, for below up to 2^53: words are cut to its length, and those too large are drawn again. */
  function uniforms(below, count) {
    const mask = (1n << BigInt(bitLength(below - 1))) - 1n;
    const drawn = new Array(count).fill(below);
    for (let round = 0; round < PATIENCE; round += 1) {
      const over = [...drawn.keys()].filter((place) => drawn[place] >= below);
      if (over.length === 0) return drawn;
      words(over.length).forEach((some, i) => (drawn[over[i]] = Number(some & mask)));
    }
    throw refusal("EntropyError", "Two thousand random words did not settle one draw; the generator cannot be working.");
  }

  const uniform = (below) => uniforms(below, 1)[0];

  // ---- Protocols: a number of a value becomes a report ------------------------------------------------------------------

  const except = (drawn, own) => drawn + (drawn >= own ? 1 : 0);

  function kAry(size, epsilon) {
    const truth = likely(1, size - 1, epsilon);
    return function (code) {
      const honest = coin(truth);
      const other = except(uniform(size - 1), code);
      return honest ? code : other;
    };
  }

  function randomizedResponse(size, epsilon) {
    demand(size === 2, "randomized response is for two values");
    return kAry(size, epsilon);
  }

  function subset(size, epsilon, { weight }) {
    demand(weight >= 1 && weight < size, "a subset has 1 to size - 1 values");
    const truth = likely(weight, size - weight, epsilon);
    const listed = weight * bitLength(size - 1) < size;
    return function (code) {
      const inside = coin(truth);
      const leaving = uniform(weight);
      const taken = new Set(); // keeps the order of drawing (Floyd's algorithm)
      for (let last = size - 1 - weight; last < size - 1; last += 1) {
        const drawn = uniform(last + 1);
        taken.add(taken.has(drawn) ? last : drawn);
      }
      const chosen = [...taken].map((drawn) => except(drawn, code));
      if (inside) chosen[leaving] = code;
      if (listed) return chosen.sort((a, b) => a - b);
      return packed(size, (bits) => chosen.forEach((place) => bits(place)));
    };
  }

  function projective(size, epsilon, { prime, dimension }) {
    demand(prime >= 2 && prime <= 4096 && !divisible(prime), "the field of a projective geometry is prime");
    demand(dimension >= 2 && dimension <= 24 && prime ** dimension <= MOST_VALUES, "the projective geometry is too large");
    const points = pointsOf(prime, dimension);
    demand(points >= size, "the projective geometry has too few points");
    const near = pointsOf(prime, dimension - 1);
    const truth = likely(near, points - near, epsilon);
    const free = prime ** (dimension - 1);
    return function (code) {
      const on = coin(truth);
      const [at, off] = [uniform(free - 1) + 1, uniform(free)];
      return meeting(code, on ? at : off, on ? 0 : 1, prime, dimension);
    };
  }

  const pointsOf = (prime, dimension) => (prime ** dimension - 1) / (prime - 1);

  /** The number of the point u with <u, v> = product for the point v of this code; the t - 1 other coordinates are free. */
  function meeting(code, free, product, prime, dimension) {
    let place = 0;
    while (pointsOf(prime, place + 1) <= code) place += 1;
    const unit = prime ** place;
    let own = code - pointsOf(prime, place); // v's coordinates below its highest one, which is 1
    const high = Math.floor(free / unit);
    const low = free % unit;
    let total = 0;
    for (let left = low; left > 0; left = Math.floor(left / prime)) {
      total += (left % prime) * (own % prime);
      own = Math.floor(own / prime);
    }
    const solved = (((product - total) % prime) + prime) % prime;
    const vector = low + (solved + high * prime) * unit;
    let top = 0;
    while (prime ** (top + 1) <= vector) top += 1;
    const lead = Math.floor(vector / prime ** top);
    let inverse = 1;
    while ((inverse * lead) % prime !== 1) inverse += 1;
    let written = 0;
    for (let at = top; at >= 0; at -= 1) {
      const digit = Math.floor(vector / prime ** at) % prime;
      written = written * prime + ((digit * inverse) % prime);
    }
    return written - prime ** top + pointsOf(prime, top);
  }

  function unary(size, epsilon) {
    const chance = lie(epsilon);
    const byte = chance(8);
    const rest = (count) => chance(count + 8) - (byte << BigInt(count));
    return function (code) {
      const drawn = words(Math.ceil(size / 8));
      const ties = [];
      return packed(size, (bits) => {
        for (let place = 0; place < size; place += 1) {
          const here = (drawn[place >> 3] >> BigInt(8 * (place & 7))) & 255n;
          if (here < byte) bits(place);
          else if (here === byte) ties.push(place);
        }
        coins(rest, ties.length).forEach((set, tie) => set && bits(ties[tie]));
        bits(code, word() < 1n << 63n);
      });
    };
  }

  function hashing(size, epsilon, { buckets }) {
    demand(buckets >= 2 && buckets <= 2 ** 31, "hashing needs 2 to 2^31 buckets");
    const truth = likely(1, buckets - 1, epsilon);
    return function (code) {
      const seed = word();
      const own = bucket(seed, BigInt.asUintN(64, BigInt(code)), BigInt(buckets));
      const honest = coin(truth);
      const other = except(uniform(buckets - 1), own);
      return [seed.toString(16).padStart(16, "0"), honest ? own : other];
    };
  }

  function bucket(seed, key, buckets) {
    const [first, second, shift] = [1n, 2n, 3n].map((step) => splitMix(seed, step));
    const mixed = ((first * (key >> 32n) + second * (key & 0xffffffffn) + shift) & MASK) >> 32n;
    return Number((mixed * buckets) >> 32n);
  }

  function splitMix(seed, step) {
    let mixed = (seed + step * 0x9e3779b97f4a7c15n) & MASK;
    mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return mixed ^ (mixed >> 31n);
  }

  function packed(size, fill) {
    const bytes = new Uint8Array(Math.ceil(size / 8));
    fill((place, set = true) => {
      const mark = 1 << (place & 7);
      bytes[place >> 3] = set ? bytes[place >> 3] | mark : bytes[place >> 3] & ~mark;
    });
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return root.btoa(text);
  }

  function divisible(number) {
    for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return true;
    return false;
  }

  const FREQUENCIES = new Map([
    ["randomized response", [randomizedResponse, []]],
    ["k-ary", [kAry, []]],
    ["subset", [subset, ["weight"]]],
    ["projective", [projective, ["prime", "dimension"]]],
    ["unary", [unary, []]],
    ["hashing", [hashing, ["buckets"]]],
  ]);

  // ---- Protocols for numbers: a place on a grid becomes a report --------------------------------------------------------

  /** code / steps * last, rounded up or down at random so that the mean is exact. */
  function rounded(code, steps, last) {
    const [scaled, all] = [BigInt(code) * BigInt(last), BigInt(steps)];
    return Number(scaled / all) + (BigInt(uniform(steps)) < scaled % all ? 1 : 0);
  }

  /** A cell of the window that starts here more often than any other cell. */
  function windowOf(cells, width, epsilon) {
    demand(width >= 1 && width < cells, "a window has some of the cells, and not all");
    const last = cells - width;
    const near = likely(width, last, epsilon);
    return function (start) {
      const inside = coin(near);
      const [within, beyond] = [uniform(width), uniform(last)];
      return inside ? start + within : beyond + (beyond >= start ? width : 0);
    };
  }

  function duchi(epsilon, { steps }) {
    demand(steps >= 1 && steps <= 2 ** 40, "there are 1 to 2^40 steps between the bounds");
    const truth = likely(1, 1, epsilon);
    return function (code) {
      const bit = rounded(code, steps, 1);
      return coin(truth) ? bit : 1 - bit;
    };
  }

  function hybrid(epsilon, { steps, grid, width }) {
    demand(grid >= 2 && grid <= 2 ** 15, "the hybrid protocol has 2 to 2^15 cells");
    const [bit, cell, chance] = [duchi(epsilon, { steps }), windowOf(grid, width, epsilon), unlikeHalf(epsilon)];
    return function (code) {
      const piecewise = coin(chance);
      const [long, short] = [cell(rounded(code, steps, grid - width)) + 2, bit(code)]; // both, whatever the coin says
      return piecewise ? long : short;
    };
  }

  function laplace() {
    throw strange("it has no Laplace noise; ask for the mean by duchi or hybrid, which also err less");
  }

  function squareWave(epsilon, { bins, arm }) {
    demand(bins >= 2 && bins <= 2 ** 14 && arm >= 0 && arm <= bins, "a distribution has 2 to 2^14 bins");
    return windowOf(bins + 2 * arm, 2 * arm + 1, epsilon);
  }

  const MEANS = new Map([
    ["duchi", [duchi, ["steps"]]],
    ["hybrid", [hybrid, ["steps", "grid", "width"]]],
    ["laplace", [laplace, ["steps"]]],
  ]);

  const SHAPES = new Map([["square wave", [squareWave, ["bins", "arm"]]]]);

  // ---- Heavy hitters: one prefix of a word, hashed into cells, becomes a report -----------------------------------------

  const WITHIN = new Map(["k-ary", "projective"].map((name) => [name, FREQUENCIES.get(name)])); // whose reports are numbers

  function prefixes(levels, cells, epsilon, facts) {
    const draw = readProtocol(facts, WITHIN, cells, epsilon);
    const reports = facts.name === "k-ary" ? cells : pointsOf(facts.prime, facts.dimension);
    demand(levels * reports <= 2 ** 26, "its prefixes have too many reports");
    return function (symbols) {
      const chosen = uniform(levels);
      return chosen * reports + draw(hashed(symbols.slice(0, chosen + 1), BigInt(cells)));
    };
  }

  /** The cell of a prefix under the public hash of its length. */
  function hashed(symbols, cells) {
    const key = (place) => keyOf(`discreet prefix ${symbols.length} ${place}`);
    const total = symbols.reduce((sum, symbol, place) => sum + BigInt(symbol) * key(place), key(symbols.length));
    return Number((((total & MASK) >> 32n) * cells) >> 32n);
  }

  // ---- Domains: what a person may answer, and the fate of any other answer ----------------------------------------------

  const LONE = /[\ud800-\udfff]/u; // half of a pair of surrogates has no UTF-8
  const isText = (value) => typeof value === "string" && !LONE.test(value);
  const isItem = (value) => isText(value) || typeof value === "boolean" || Number.isSafeInteger(value);

  /** Equal for what Python calls equal: true is 1. */
  function mark(value) {
    if (typeof value === "string") return `"${value}`;
    return ["number", "boolean", "bigint"].includes(typeof value) ? String(Number(value) + 0) : null;
  }

  /** How many values a domain has (0 for any text), and the number of a value, or null where it is outside. */
  function readDomain(facts) {
    demand(isObject(facts) && Object.keys(facts).length === 2 && "missing" in facts, "its domain is not one");
    if (facts.text === true) return { size: 0, code: (value) => (isText(value) ? keyOf(value) : null) };
    if (Array.isArray(facts.range)) return readRange(facts.range);
    const items = facts.values;
    demand(Array.isArray(items) && items.every(isItem), "its domain is not a list of words, whole numbers or truth values");
    const places = new Map(items.map((item, place) => [mark(item), place]));
    const listed = places.size === items.length && items.length >= 2 && items.length <= MOST_VALUES;
    demand(listed, "its domain has too few, too many or repeated values");
    return { size: items.length, code: (value) => places.get(mark(value)) ?? null };
  }

  function readRange(range) {
    demand(range.length === 3 && range.every(Number.isSafeInteger) && range[2] !== 0, "its range is not start, stop and step");
    const [start, stop, step] = range.map(BigInt);
    const length = (stop - start + step - (step > 0n ? 1n : -1n)) / step;
    demand(length >= 2n && length <= BigInt(MOST_VALUES), "its range has too few or too many values");
    return {
      size: Number(length),
      code(value) {
        const number = mark(value) === null || typeof value === "string" ? NaN : Number(value);
        if (!Number.isSafeInteger(number)) return null;
        const distance = BigInt(number) - start;
        return distance % step === 0n && distance / step >= 0n && distance / step < length ? Number(distance / step) : null;
      },
    };
  }

  /** A value's number, or that of the declared fate of values outside. */
  function settler(domain, missing) {
    if (missing === "refuse") {
      return function (value) {
        const code = domain.code(value);
        if (code !== null) return code;
        throw refusal("ValueRefused", "The answer is outside the task's domain, which the task refuses: send nothing.");
      };
    }
    if (missing === "random") {
      return function (value) {
        const drawn = domain.size ? uniform(domain.size) : word(); // for everybody: the work does not tell who was outside
        return domain.code(value) ?? drawn;
      };
    }
    const fate = hasFields(missing, ["value"]) ? missing.value : null;
    const instead = isItem(fate) && fate !== "refuse" && fate !== "random" ? domain.code(fate) : null;
    demand(instead !== null, "the fate of other answers is none that it knows");
    return (value) => domain.code(value) ?? instead;
  }

  // ---- Scales: numbers between two bounds, as places from 0 to 1 --------------------------------------------------------

  /** The place of a number, clamped to the bounds, or that of the declared fate of what is no number. */
  function readScale(facts) {
    demand(hasFields(facts, ["lower", "missing", "upper"]), "its scale is not one");
    const [lower, upper] = [readFraction(facts.lower, "a bound"), readFraction(facts.upper, "a bound")];
    const span = minus(upper, lower);
    const [low, high, width] = [lower, upper, span].map(nearest);
    demand(span.num > 0n && Number.isFinite(low) && Number.isFinite(high), "its lower bound is not below the upper");
    demand(width > 2 ** -900 && width < 2 ** 900, "its bounds are too near or too far");
    const found = (number) => Math.min(Math.max((Math.min(Math.max(number, low), high) - low) / width, 0), 1);
    if (facts.missing === "refuse") {
      return function (value) {
        const number = numberOf(value);
        if (!Number.isNaN(number)) return found(number);
        throw refusal("ValueRefused", "The answer is no number, which the task refuses: send nothing.");
      };
    }
    if (facts.missing === "random") {
      return function (value) {
        const [number, drawn] = [numberOf(value), uniform(2 ** 53)]; // for everybody: the work does not tell who was outside
        return Number.isNaN(number) ? drawn * 2 ** -53 : found(number);
      };
    }
    demand(hasFields(facts.missing, ["value"]), "the fate of other answers is none that it knows");
    const fate = minus(readFraction(facts.missing.value, "the fate of other answers"), lower);
    const place = { num: fate.num * span.den, den: fate.den * span.num };
    demand(place.num >= 0n && place.num <= place.den, "the fate of other answers is outside the bounds");
    const instead = nearest(place);
    return function (value) {
      const number = numberOf(value);
      return Number.isNaN(number) ? instead : found(number);
    };
  }

  const numberOf = (value) => (["number", "boolean", "bigint"].includes(typeof value) ? Number(value) : NaN);

  const minus = (a, b) => ({ num: a.num * b.den - b.num * a.den, den: a.den * b.den });

  /** The double next to a fraction (an even one between two): 64 digits and whether any follow, then one rounding. */
  function nearest({ num, den }) {
    const size = num < 0n ? -num : num;
    const digits = 64 - size.toString(2).length + den.toString(2).length;
    const shift = BigInt(Math.min(digits, 1074)); // a bound this near 0 moves no place, so its last digit does not matter
    const [over, under] = shift > 0n ? [size << shift, den] : [size, den << -shift];
    const whole = (over / under) | (over % under > 0n ? 1n : 0n);
    return Number(num < 0n ? -whole : whole) * 2 ** -Number(shift);
  }

  /** The nearest whole number, the even one of two. */
  function rint(number) {
    const low = Math.floor(number);
    const rest = number - low;
    return low + (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? 1 : 0);
  }

  // ---- Spelling: a word as symbols, bytes or places in an alphabet; 0 fills up behind the end ---------------------------

  /** The symbols of a word, or those of the declared fate of what cannot be spelled. */
  function readSpelling(facts) {
    demand(hasFields(facts, ["alphabet", "length", "missing"]), "its words are not described");
    const { length, alphabet, missing } = facts;
    demand(Number.isSafeInteger(length) && length >= 1 && length <= 64, "words have 1 to 64 symbols");
    demand(alphabet === null || (isText(alphabet) && !alphabet.includes("\0")), "its alphabet is no text");
    const signs = [...(alphabet ?? "")];
    const places = new Map(signs.map((sign, place) => [sign, place + 1]));
    const listed = places.size === signs.length && signs.length >= 2 && signs.length <= 1000;
    demand(alphabet === null || listed, "its alphabet has too few, too many or repeated characters");

    function spelled(value) {
      if (typeof value !== "string" || value === "" || value.includes("\0")) return null;
      const symbols = alphabet === null ? bytesOf(value, length) : [...value].slice(0, length).map((sign) => places.get(sign));
      if (symbols.length === 0 || symbols.includes(undefined)) return null;
      return [...symbols, ...new Array(length - symbols.length).fill(0)];
    }

    if (missing === "refuse") {
      return function (value) {
        const symbols = spelled(value);
        if (symbols !== null) return symbols;
        throw refusal("ValueRefused", "The answer cannot be spelled in this task, which refuses such answers: send nothing.");
      };
    }
    if (missing === "random") {
      const last = alphabet === null ? 255 : signs.length;
      return function (value) {
        const drawn = uniforms(last, length).map((symbol) => symbol + 1); // for everybody, as above
        return spelled(value) ?? drawn;
      };
    }
    const instead = spelled(missing);
    demand(instead !== null, "the fate of other answers is none that it knows");
    return (value) => spelled(value) ?? instead;
  }

  /** The first bytes of a text's UTF-8, cut between characters; none where it has no UTF-8. */
  function bytesOf(text, length) {
    const bytes = isText(text) ? new TextEncoder().encode(text) : new Uint8Array(0);
    let end = Math.min(length, bytes.length);
    while (end > 0 && end < bytes.length && (bytes[end] & 0xc0) === 0x80) end -= 1;
    return [...bytes.slice(0, end)];
  }

  /** The first 64 bits of a text's SHA-256. */
  const keyOf = (text) => BigInt(`0x${sha256(text).slice(0, 16)}`);

  // ---- Tasks ------------------------------------------------------------------------------------------------------------

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  /** Whether this is an object with just these fields. */
  function hasFields(value, names) {
    return isObject(value) && Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
  }

  // Of each kind: its own fields, and what makes of them how a value is settled and how a report is drawn of what that gives.
  const KINDS = new Map([
    ["frequencies", [["domain", "protocol"], readFrequencies]],
    ["bit", [["domain", "protocol"], readFrequencies]],
    ["mean", [["protocol", "scale"], readMean]],
    ["distribution", [["protocol", "scale"], readDistribution]],
    ["heavy hitters", [["cells", "most", "protocol", "words"], readHeavyHitters]],
    ["attributes", [["tasks"], readAttributes]],
  ]);
  const COMMON = ["discreet", "epsilon", "kind", "period", "question", "version"];

  function readFrequencies(facts, epsilon) {
    const domain = readDomain(facts.domain);
    const draw = readProtocol(facts.protocol, FREQUENCIES, domain.size, epsilon);
    demand(domain.size > 0 || facts.protocol.name === "hashing", "any text can be asked for by hashing alone");
    return { settle: settler(domain, facts.domain.missing), draw };
  }

  function readMean(facts, epsilon) {
    const [place, draw] = [readScale(facts.scale), readProtocol(facts.protocol, MEANS, epsilon)];
    return { settle: (value) => rint(place(value) * facts.protocol.steps), draw };
  }

  function readDistribution(facts, epsilon) {
    const [place, draw] = [readScale(facts.scale), readProtocol(facts.protocol, SHAPES, epsilon)];
    const { bins } = facts.protocol;
    return { settle: (value) => Math.min(Math.floor(place(value) * bins), bins - 1), draw };
  }

  function readHeavyHitters({ words: spelling, most, cells, protocol }, epsilon) {
    demand(Number.isSafeInteger(most) && most >= 1 && most <= 10000, "1 to 10,000 prefixes are followed");
    demand(Number.isSafeInteger(cells) && cells >= 16 && cells <= MOST_VALUES, "prefixes are hashed into 16 to 2^24 cells");
    const settle = readSpelling(spelling);
    return { settle, draw: prefixes(spelling.length, cells, epsilon, protocol) };
  }

  /** Every answer is read and randomised, then all but the one of a drawn task are forgotten. */
  function readAttributes({ tasks }, epsilon) {
    demand(isObject(tasks) && Object.keys(tasks).every(isText), "attributes are tasks by name");
    const names = inOrder(tasks);
    demand(names.length >= 2 && names.length < 2 ** 16, "there are 2 to 65,535 attributes");
    const members = names.map((name) => {
      demand(isObject(tasks[name]) && tasks[name].kind !== "attributes", "an attribute is a task, and not attributes again");
      demand(!isObject(tasks[name].domain) || !("text" in tasks[name].domain), "attributes have closed domains");
      return readParts(tasks[name]);
    });
    const dearest = members.map((member) => member.epsilon).reduce((a, b) => (a.num * b.den < b.num * a.den ? b : a));
    demand(dearest.num === epsilon.num && dearest.den === epsilon.den, "epsilon is not the largest of the attributes'");
    return {
      settle(value) {
        if (!hasFields(value, names) || names.some((name) => Array.isArray(value[name]))) {
          throw refusal("ValueRefused", "Answers are an object with one value for every attribute, and no others.");
        }
        return names.map((name, number) => members[number].settle(value[name]));
      },
      draw(codes) {
        const chosen = uniform(members.length);
        const reports = members.map((member, number) => member.draw(codes[number]));
        return [chosen, reports[chosen]];
      },
    };
  }

  /** What a task that was parsed does, checked in full; unknown versions and kinds are refused. */
  function readParts(facts) {
    demand(isObject(facts) && facts.discreet === "local task", "it is no task of local privacy");
    demand(facts.version === VERSION, `it reads version ${VERSION} only`);
    demand(facts.kind !== "repeated", "repeated questions need the memory of Python's client, and this one remembers nothing");
    demand(KINDS.has(facts.kind), `it randomises for the kinds ${[...KINDS.keys()].join(", ")} only`);
    const [names, read] = KINDS.get(facts.kind);
    demand(hasFields(facts, [...COMMON, ...names]), "it has other fields than a task");
    demand(isText(facts.question) && isText(facts.period), "question and period are texts");
    const epsilon = readEpsilon(facts.epsilon);
    return { epsilon, ...read(facts, epsilon) };
  }

  /** The task of this JSON (text, or an object that was parsed from it). */
  function readTask(json) {
    let facts;
    try {
      facts = JSON.parse(typeof json === "string" ? json : JSON.stringify(json));
    } catch {
      throw strange("it is not JSON");
    }
    const { settle, draw } = readParts(facts);
    const hash = sha256(canonical(facts));

    /** One report for one person's answer; a nonce is a random mark by which a collector finds duplicates. */
    function randomize(value, { nonce = false } = {}) {
      const report = { v: VERSION, task: hash, r: draw(settle(value)) };
      if (nonce) report.nonce = words(2).map(littleEndian).join("");
      return report;
    }

    const { kind, question, period, epsilon } = facts;
    return Object.freeze({ hash, kind, question, period, epsilon, protocol: facts.protocol?.name ?? "one of", randomize });
  }

  function readProtocol(facts, known, ...given) {
    demand(isObject(facts) && known.has(facts.name), "its protocol is unknown");
    const [make, names] = known.get(facts.name);
    const whole = names.every((name) => Number.isSafeInteger(facts[name]));
    demand(whole && hasFields(facts, ["name", ...names]), "its protocol has other parameters");
    return make(...given, facts);
  }

  /** A fraction as Python writes it: in lowest terms, and no denominator of 1. */
  function readFraction(text, name) {
    const parts = typeof text === "string" && text.length <= 2000 ? /^(0|-?[1-9][0-9]*)(?:\/([1-9][0-9]*))?$/.exec(text) : null;
    demand(parts !== null && parts[2] !== "1", `${name} is not a fraction`);
    const [num, den] = [BigInt(parts[1]), BigInt(parts[2] ?? 1)];
    let [a, b] = [num < 0n ? -num : num, den];
    while (b > 0n) [a, b] = [b, a % b];
    demand(a === 1n || (num === 0n && den === 1n), `${name} is not in lowest terms`);
    return { num, den };
  }

  function readEpsilon(text) {
    const epsilon = readFraction(text, "epsilon");
    demand(epsilon.num > 0n && epsilon.num * SMALLEST_EPSILON >= epsilon.den, "epsilon is not above 0, or below 1e-100");
    demand(epsilon.num <= LARGEST_EPSILON * epsilon.den, `epsilon is above ${LARGEST_EPSILON}`);
    return epsilon;
  }

  /** JSON with one spelling only: keys in order, no spaces. */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (!isObject(value)) return JSON.stringify(value);
    return `{${inOrder(value).map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }

  /** The keys in the order of their characters, as Python sorts; JavaScript would compare halves of surrogate pairs. */
  function inOrder(value) {
    const padded = (key) => Array.from(key, (sign) => sign.codePointAt(0).toString(16).padStart(6, "0")).join("");
    return Object.keys(value).map((key) => [padded(key), key]).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
  }

  function littleEndian(number) {
    return number.toString(16).padStart(16, "0").match(/../g).reverse().join("");
  }

  // ---- SHA-256 (FIPS 180-4); the browser's own is for secure pages only, and cannot be waited for here -------------------

  const ROUNDS = [];
  const START = [];
  for (let prime = 2; ROUNDS.length < 64; prime += 1) {
    if (divisible(prime)) continue;
    if (START.length < 8) START.push(fraction(prime, 2n));
    ROUNDS.push(fraction(prime, 3n));
  }

  /** The first 32 bits of the fractional part of a prime's square or cube root. */
  function fraction(prime, degree) {
    const power = BigInt(prime) << (32n * degree);
    let root = 0n;
    for (let bit = 1n << 42n; bit > 0n; bit >>= 1n) if ((root + bit) ** degree <= power) root += bit;
    return Number(root & 0xffffffffn);
  }

  function sha256(text) {
    const bytes = new TextEncoder().encode(text);
    const blocks = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
    blocks.set(bytes);
    blocks[bytes.length] = 0x80;
    const view = new DataView(blocks.buffer);
    view.setBigUint64(blocks.length - 8, BigInt(bytes.length) * 8n);
    const state = Uint32Array.from(START);
    const turned = (x, by) => (x >>> by) | (x << (32 - by));
    const w = new Uint32Array(64);
    for (let at = 0; at < blocks.length; at += 64) {
      for (let i = 0; i < 64; i += 1) {
        if (i < 16) {
          w[i] = view.getUint32(at + 4 * i);
          continue;
        }
        const [x, y] = [w[i - 15], w[i - 2]];
        w[i] = w[i - 16] + (turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)) + w[i - 7] + (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i += 1) {
        const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) >>> 0;
        const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) >>> 0, c, b, a, (one + two) >>> 0];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
    }
    return [...state].map((x) => x.toString(16).padStart(8, "0")).join("");
  }

  return Object.freeze({ readTask, version: VERSION });
});
