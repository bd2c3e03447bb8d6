"use strict";
/* The arithmetic of the threshold explorer: numbers and words, nothing of the page.

   Trials are counted between thresholds, so figures at these thresholds are exact. Rates, costs,
   ratios and measures are those of parivox.core, words those of report/words.py; tests hold them
   together. */

const explorerNumbers = (() => {
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const RATES = ["fpr", "fnr"];

  // ---- what Python packed

  /** Integers from text: each sign has five bits of it, the lowest first, and tells if more follow. */
  function unpacked(text) {
    const found = [];
    let number = 0;
    let times = 1;
    for (const sign of text) {
      const digit = DIGITS.indexOf(sign);
      number += (digit % 32) * times;
      times *= 32;
      if (digit < 32) {
        found.push(number);
        number = 0;
        times = 1;
      }
    }
    return found;
  }

  /** Errors of every group at every threshold from the trials between them. */
  function curves(counts, size) {
    const target = unpacked(counts.target);
    const nontarget = unpacked(counts.nontarget);
    const made = [];
    for (let start = 0; start < target.length; start += size) {
      const fp = new Float64Array(size);
      const fn = new Float64Array(size);
      let accepted = 0;
      for (let k = size - 1; k >= 0; k -= 1) fp[k] = accepted += nontarget[start + k];
      let rejected = 0;
      for (let k = 0; k < size; k += 1) {
        fn[k] = rejected;
        rejected += target[start + k];
      }
      made.push({ fp, fn, targets: rejected, nontargets: accepted });
    }
    return made;
  }

  /** A limit of four digits from its integer: 0 is none, 1 is zero. */
  function limit(code) {
    if (code < 2) return code ? 0 : NaN;
    const exponent = Math.floor((code - 2) / 9000);
    return Number(`${1000 + ((code - 2) % 9000)}e-${exponent + 3}`);
  }

  /** Limits by kind (low and high of FPR, of FNR, of both ratios in millionths), group and node. */
  function bands(grouping, size) {
    const nodes = grouping.nodes;
    const all = unpacked(grouping.limits).map(limit);
    for (const [place, exact] of Object.entries(grouping.exact)) {
      const j = nodes.indexOf(Number(place));
      exact.forEach((value, i) => (all[i * nodes.length + j] = value === null ? NaN : value));
    }
    const of = (kind, i) =>
      all.slice((kind * size + i) * nodes.length, (kind * size + i + 1) * nodes.length);
    return [0, 1, 2, 3, 4, 5, 6, 7].map((kind) => Array.from({ length: size }, (_, i) => of(kind, i)));
  }

  // ---- rates, costs, and where a target is held

  const rate = (errors, trials) => (trials > 0 ? errors / trials : NaN);

  /** A rate under a zero policy. */
  function smoothed(errors, trials, zero) {
    if (!(trials > 0)) return NaN;
    if (zero === "jeffreys") return (errors + 0.5) / (trials + 1);
    if (zero === "nist" && errors === 0) return -Math.expm1(Math.log(0.05) / trials);
    return errors / trials;
  }

  const costOf = (model, fpr, fnr) => model.miss * fnr + model.fa * fpr;
  const costAt = (curve, model, k) =>
    costOf(model, rate(curve.fp[k], curve.nontargets), rate(curve.fn[k], curve.targets));

  /** The place among rising thresholds that lies nearest; of two as near, the lower. */
  function nearest(thresholds, wanted) {
    let found = -1;
    for (let k = 0; k < thresholds.length; k += 1) {
      if (thresholds[k] === wanted) return k;
      if (!Number.isFinite(thresholds[k])) continue;
      if (found < 0 || Math.abs(thresholds[k] - wanted) < Math.abs(thresholds[found] - wanted)) {
        found = k;
      }
    }
    return Math.max(found, 0);
  }

  /** Where a curve holds a target; -1 with a reason where it does nowhere. */
  function held(curve, hold, at, model) {
    const size = curve.fp.length;
    const nowhere = (reason) => ({ k: -1, reason });
    if (hold === "least" || hold === "cost") {
      let least = -1;
      let kept = -1;
      for (let k = 0; k < size; k += 1) {
        const cost = costAt(curve, model, k);
        if (Number.isNaN(cost)) return nowhere("undefined_value");
        if (least < 0 || cost <= costAt(curve, model, least)) least = k;
        if (hold === "cost" && cost <= at) kept = k;
      }
      return { k: kept < 0 ? least : kept, reason: "" };
    }
    const [errors, trials] =
      hold === "fpr" ? [curve.fp, curve.nontargets] : [curve.fn, curve.targets];
    if (!(trials > 0)) return nowhere("undefined_value");
    if (at * trials < 1) return nowhere("too_few");
    let found = -1;
    for (let k = 0; k < size; k += 1) {
      if (errors[k] / trials > at) continue;
      found = k;
      if (hold === "fpr") break; // the lowest threshold; of FNR the highest
    }
    return found < 0 ? nowhere("out_of_reach") : { k: found, reason: "" };
  }

  /** The limits of one group at a threshold, and whether they were computed there. */
  function limitsAt(nodes, thresholds, low, high, k) {
    let j = 0;
    while (j < nodes.length && nodes[j] < k) j += 1;
    if (nodes[j] === k) return [low[j], high[j]];
    if (j === 0 || j === nodes.length) return [NaN, NaN];
    const [before, after] = [thresholds[nodes[j - 1]], thresholds[nodes[j]]];
    const share = (thresholds[k] - before) / (after - before);
    return [low, high].map((one) => mixed(one[j - 1], one[j], share));
  }

  function mixed(a, b, share) {
    if (!(a > 0 && a < 1 && b > 0 && b < 1)) return (1 - share) * a + share * b;
    const logit = (1 - share) * Math.log(a / (1 - a)) + share * Math.log(b / (1 - b));
    return 1 / (1 + Math.exp(-logit));
  }

  /** Limits of a ratio to all others; with a share of all trials, of that to everyone. */
  function ratioLimits(kept, share = 0) {
    return kept.map((limit) => {
      const ratio = limit * 1e6;
      return share ? 1 / (share + (1 - share) / ratio) : ratio;
    });
  }

  /** Whether limits at a threshold are mixed, and of so few errors that they may be far off. */
  const isRough = (nodes, k, errors, trials) =>
    !nodes.includes(k) && Math.min(errors, trials - errors) <= 20;

  /** Where a rate stands, from 0 to 100, on an axis of so many decades that ends at 100 %. */
  function place(decades, value) {
    if (Number.isNaN(value)) return NaN;
    return value > 0 ? 100 * Math.max(1 + Math.log10(value) / decades, 0) : 0;
  }

  // ---- a group against a reference

  function ratio(value, to) {
    const reason = Number.isNaN(value) ? "undefined_value"
      : Number.isNaN(to) ? "undefined_reference"
      : to === 0 ? (value === 0 ? "zero_over_zero" : "zero_reference") : "";
    return { value: value / to, reason };
  }

  /** A cost over the smallest one. */
  function thresholdBias(cost, own) {
    if (Number.isNaN(cost)) return { value: NaN, reason: "undefined_value" };
    if (Number.isNaN(own)) return { value: NaN, reason: "undefined_reference" };
    if (cost === 0 && own === 0) return { value: 1, reason: "zero_over_zero" };
    const value = cost / own;
    const rounded = value < 1 && value > 1 - 1e-12 ? 1 : value;
    return { value: rounded, reason: own === 0 ? "zero_own_min" : "" };
  }

  // ---- meta-measures: of values that all groups have

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const mean = (values) => sum(values) / values.length;
  const most = (values) => Math.max(...values);
  const least = (values) => Math.min(...values);
  const plain = (value) => ({ value, reason: "" });
  const lacking = (reason) => ({ value: NaN, reason });
  const range = (values) => plain(most(values) - least(values));

  function gini(values) {
    const rising = [...values].sort((a, b) => a - b);
    const total = sum(values);
    if (total === 0) return { value: 0, reason: "no_errors" };
    let gaps = 0;
    for (let k = 1; k < rising.length; k += 1) {
      gaps += k * (rising.length - k) * (rising[k] - rising[k - 1]);
    }
    return plain(Math.min(gaps / ((rising.length - 1) * total), 1));
  }

  function deviation(values) {
    const middle = mean(values);
    return Math.sqrt(sum(values.map((value) => (value - middle) ** 2)) / (values.length - 1));
  }

  const perMean = (values, above) =>
    mean(values) === 0 ? lacking("no_errors") : plain(above / mean(values));

  function maxMin(values, { below }) {
    if (most(values) === 0) return { value: 1, reason: "zero_over_zero" };
    return least(below) === 0 ? lacking("zero_cell") : plain(most(values) / least(below));
  }

  function minMax(values) {
    if (most(values) === 0) return { value: 1, reason: "zero_over_zero" };
    return plain(least(values) / most(values));
  }

  function maxGeomean(values, { below }) {
    if (most(values) === 0) return lacking("no_errors");
    const middle = Math.exp(mean(below.map(Math.log)));
    return middle === 0 ? lacking("zero_cell") : plain(most(values) / middle);
  }

  function nrb(values, { average }) {
    if (Number.isNaN(average)) return lacking("undefined_reference");
    if (average === 0) return lacking("zero_reference");
    if (least(values) === 0) return lacking("zero_cell");
    return plain(mean(values.map((value) => Math.abs(Math.log(value / average)))));
  }

  const SINGLE = {
    fdr_fpd: range,
    fdr_fnd: range,
    gini,
    max_min: maxMin,
    min_max: minMax,
    max_geomean: maxGeomean,
    max_mean: (values) => perMean(values, most(values)),
    nrb,
    sd: (values) => plain(deviation(values)),
    cv: (values) => perMean(values, deviation(values)),
  };

  const first = (one, other, name) => (one === name || other === "" ? one : other);

  const JOINT = {
    fdr: (f, q, { alpha }) => plain(1 - (alpha * range(f).value + (1 - alpha) * range(q).value)),
    garbe: (f, q, { alpha }) => {
      const isSilent = (alpha > 0 && most(f) === 0) || (alpha < 1 && most(q) === 0);
      const value = alpha * gini(f).value + (1 - alpha) * gini(q).value;
      return { value, reason: isSilent ? "no_errors" : "" };
    },
    ir: (f, q, { alpha, below }) => {
      const [one, other] = [maxMin(f, { below: below[0] }), maxMin(q, { below: below[1] })];
      const value =
        (alpha > 0 ? one.value ** alpha : 1) * (alpha < 1 ? other.value ** (1 - alpha) : 1);
      const why = [alpha > 0 ? one.reason : "", alpha < 1 ? other.reason : ""];
      return { value, reason: first(...why, "zero_cell") };
    },
    eo_diff: (f, q) => plain(Math.max(range(f).value, range(q).value)),
    eo_ratio: (f, q) => {
      const [one, other] = [minMax(f), minMax(q.map((value) => 1 - value))];
      const reason = first(one.reason, other.reason, "zero_over_zero");
      return { value: Math.min(one.value, other.value), reason };
    },
  };

  /** Whether a row of measures can be computed here. */
  const knows = (row) =>
    row.joint in JOINT || [...RATES, "cost"].some((metric) => row[metric] in SINGLE);

  /** Of groups that have a value: fewer than two make none. */
  function ofEnough(n, make) {
    if (n > 1) return make();
    return lacking(n ? "one_group" : "no_groups");
  }

  /** Every measure by row, and in it by metric.

      `values` and `below` hold each metric of every group, `used` which groups count for it;
      `average` the pooled values. */
  function measures(rows, values, below, used, average, alpha) {
    const pick = (list, chosen) => list.filter((_, i) => chosen[i]);
    const known = (metric) => values[metric].map((x, i) => used[metric][i] && !Number.isNaN(x));
    const chosen = Object.fromEntries(Object.keys(values).map((m) => [m, known(m)]));
    const both = chosen.fpr.map((is, i) => is && chosen.fnr[i]);
    const found = {};
    for (const row of rows) {
      found[row.id] = {};
      for (const metric of Object.keys(values)) {
        if (!(row[metric] in SINGLE)) continue;
        const own = pick(values[metric], chosen[metric]);
        const more = { below: pick(below[metric], chosen[metric]), average: average[metric] };
        found[row.id][metric] = ofEnough(own.length, () => SINGLE[row[metric]](own, more));
      }
      if (!(row.joint in JOINT)) continue;
      const [f, q] = RATES.map((metric) => pick(values[metric], both));
      const more = { alpha, below: RATES.map((metric) => pick(below[metric], both)) };
      found[row.id].both = ofEnough(f.length, () => JOINT[row.joint](f, q, more));
    }
    return found;
  }

  // ---- words: digit for digit what Python writes, which rounds halves to even

  const isHalf = (text, cut) => /^50*$/.test(text.slice(cut).replace(".", ""));

  /** A rounded text, or, where what was cut off is exactly a half, the even neighbour.

      `longer` writes so many digits; few tell at once that it is no half, which many cost. */
  function toEven(text, longer, cut) {
    if (!isHalf(longer(20), cut)) return text;
    const all = longer(80);
    const kept = all.slice(0, cut).replace(/\.$/, "");
    return isHalf(all, cut) && "02468".includes(kept.slice(-1)) ? kept : text;
  }

  /** So many digits, the first being that of the exponent. */
  function rounded(value, digits) {
    const size = Math.abs(value);
    const [mantissa, exponent] = size.toExponential(digits - 1).split("e");
    const longer = (more) => size.toExponential(more).split("e")[0];
    const even = toEven(mantissa, longer, digits + (digits > 1 ? 1 : 0));
    const place = even === mantissa ? exponent : size.toExponential(80).split("e")[1];
    return [even.replace(".", ""), Number(place)];
  }

  const grouped = (text) => text.replace(/\B(?=(\d{3})+$)/g, ",");
  const count = (n) => grouped(String(n));

  /** `digits` significant ones, trailing zeros kept. */
  function significant(value, digits) {
    const [signs, exponent] = value === 0 ? ["0".repeat(digits), 0] : rounded(value, digits);
    const minus = value < 0 ? "-" : "";
    if (exponent < -4 || exponent >= digits) {
      const size = String(Math.abs(exponent)).padStart(2, "0");
      return `${minus}${signs[0]}.${signs.slice(1)}e${exponent < 0 ? "-" : "+"}${size}`;
    }
    if (exponent < 0) return `${minus}0.${"0".repeat(-exponent - 1)}${signs}`;
    const cut = exponent + 1;
    return cut === digits ? minus + signs : `${minus}${signs.slice(0, cut)}.${signs.slice(cut)}`;
  }

  /** `digits` significant ones at most. */
  function general(value, digits) {
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
    if (value === 0) return "0";
    const [mantissa, exponent] = significant(value, digits).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return exponent === undefined ? short : `${short}e${exponent}`;
  }

  /** So many decimals. */
  function fixed(value, decimals) {
    const size = Math.abs(value);
    const cut = size.toFixed(20).indexOf(".") + (decimals && decimals + 1);
    return toEven(size.toFixed(decimals), (more) => size.toFixed(more), cut);
  }

  function percent(value) {
    if (Number.isNaN(value)) return "–";
    if (value === 0) return "0 %";
    return `${significant(100 * value, 3)} %`;
  }

  /** A rate as people count: 1 in 100, 43.2 in 100. */
  function oneIn(rate) {
    if (Number.isNaN(rate)) return "–";
    if (rate === 0 || rate === 1) return rate ? "all" : "none";
    if (rate >= 0.1) return `${general(100 * rate, 3)} in 100`;
    return `1 in ${count(Number((1 / rate).toPrecision(3)))}`;
  }

  /** Two digits. */
  function short(value) {
    if (Number.isNaN(value)) return "–";
    if (value >= 9999.5) return ">9,999";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 9.95) return grouped(fixed(value, 0));
    if (size < 0.0995) return general(value, 2);
    return fixed(value, size >= 0.995 ? 1 : 2);
  }

  /** An interval, marked where it is rough; empty where there is none. */
  function span(low, high, times, isRough) {
    if (Number.isNaN(low + high)) return "";
    return `${isRough ? "≈\u00a0" : ""}[${short(times * low)}, ${short(times * high)}]`;
  }

  const sized = (value, text) =>
    Number.isNaN(value) ? "–" : (value > 0 ? "+" : value < 0 ? "-" : "") + text;
  const points = (value) => sized(value, percent(Math.abs(value)).replace(" %", ""));
  const figure = (value) => (value === 0 ? "0" : significant(value, 4));

  return Object.freeze({
    RATES, unpacked, curves, bands, rate, smoothed, costOf, costAt, nearest, held, limitsAt,
    ratioLimits, isRough, ratio, thresholdBias, measures, knows, count, significant, general, fixed,
    percent, oneIn, short, span, sized, points, figure, place,
  });
})();
