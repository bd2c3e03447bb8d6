"use strict";
/* The threshold explorer: every group at a threshold that a reader chooses. It takes the place of the
   table of audited points; arithmetic.js has the numbers. */

(() => {
  const N = explorerNumbers;
  const at = (id) => document.getElementById(`x-${id}`);

  /** A row of a table whose cells are found by name and touched only where they change. */
  class Row {
    constructor(element) {
      this.element = element;
      this.cells = {};
      this.pictures = {};
      for (const found of element.querySelectorAll("[data-x]")) {
        if (found.tagName.toLowerCase() === "svg") {
          const [bar, dot] = found.children;
          this.pictures[found.dataset.x] = { svg: found, bar, dot, mark: dot.firstChild };
        } else {
          const text = found.textContent;
          found.textContent = text || " "; // so that there is a node to write to
          this.cells[found.dataset.x] = { found, node: found.firstChild, text: found.textContent };
        }
      }
    }

    put(name, text, value = NaN) {
      const cell = this.cells[name];
      if (cell.text !== text) cell.node.data = cell.text = text;
      cell.found.exact = value; // all digits, for who looks closer
    }

    /** Show a verdict, or none, in the colours of its code. */
    judge(name, code, words) {
      this.put(name, words);
      set(this.cells[name].found, "class", `v-${code}`);
    }

    /** Draw a mark and its bar, at parts of the width. */
    draw(name, [place, low, high], look, shape) {
      const { svg, bar, dot, mark } = this.pictures[name];
      const [from, to] = Number.isNaN(low + high) ? [0, 0] : [low, high];
      set(svg, "class", `strip ${look}`);
      set(bar, "x1", part(from));
      set(bar, "x2", part(to));
      set(dot, "x", part(place || 0));
      set(mark, "d", Number.isNaN(place) ? "" : shape);
    }
  }

  const part = (place) => `${Math.round(100 * place) / 100}%`;

  function set(element, name, value) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }

  function start() {
    if (!at("data")) return;
    const data = JSON.parse(at("data").textContent);
    at("still").before(at("live").content); // which paper shows
    const state = {
      list: 0, grouping: 0, model: 0, k: data.lists[0].start, hold: "threshold", at: NaN,
      alpha: data.alpha, zero: data.zero[0], reference: "others", isGated: false, point: "", order: "",
    };
    const tables = { common: rowsOf("common"), gaps: rowsOf("gaps"), own: rowsOf("own") };
    const measured = new Map(measureRows());
    const known = new Map();

    const list = () => data.lists[state.list];
    const grouping = () => list().groupings[state.grouping];
    const model = () => data.models[state.model];

    /** The numbers behind a grouping, unpacked when it is first asked for. */
    function numbers(one) {
      if (!known.has(one)) {
        const size = list().thresholds.length;
        const curves = N.curves(one, size);
        known.set(one, { curves, bands: one.groups ? N.bands(one, curves.length) : [] });
      }
      return known.get(one);
    }

    const thresholds = () => {
      const one = list();
      if (!one.numbers) one.numbers = one.thresholds.map(Number);
      return one.numbers;
    };

    function rowsOf(id) {
      const table = at(id);
      table.style.setProperty("--decades", data.decades);
      return { table, template: table.tBodies[0].rows[0], rows: [] };
    }

    /** A row for each measure that can be computed here, by id. */
    function measureRows() {
      const body = at("measures").tBodies[0];
      const template = body.rows[0];
      template.remove();
      return data.rows.filter(N.knows).map((one) => {
        const row = new Row(template.cloneNode(true));
        row.element.dataset.row = one.id;
        for (const name of ["label", "name", "fair"]) row.put(name, one[name]);
        body.append(row.element);
        return [one.id, row];
      });
    }

    const told = ({ value, reason }, words) => {
      const text = Number.isNaN(value) ? "–" : Math.abs(value) === Infinity ? "∞" : words(value);
      return reason in data.reasons ? `${text} (${data.reasons[reason]})` : text;
    };

    // ---- what is held

    /** The target as groups are to hold it: by hand, the rate of all trials here. */
    function aim() {
      if (state.hold !== "threshold") return { hold: state.hold, at: state.at };
      const [all] = numbers(list().everyone).curves;
      const fpr = N.rate(all.fp[state.k], all.nontargets);
      if (!Number.isNaN(fpr)) return { hold: "fpr", at: fpr };
      const fnr = N.rate(all.fn[state.k], all.targets);
      return Number.isNaN(fnr) ? { hold: "fpr", at: 0 } : { hold: "fnr", at: fnr };
    }

    function aimed({ hold, at: level }) {
      if (hold === "least") return `the smallest cost (${model().name})`;
      if (hold === "cost") return `a cost (${model().name}) of at most ${N.figure(level)}`;
      return `a false ${hold === "fpr" ? "accept" : "reject"} rate of at most ${N.percent(level)}`;
    }

    // ---- figures

    /** Which groups fail a gate for a metric at the audited point last chosen. */
    function lacks(metric) {
      const gates = grouping().gates[state.point] || {};
      return (i) => {
        if (metric !== "cost") return Boolean((gates[metric] || [])[i]);
        return ((gates.fpr || gates.fnr || [])[i] || "").includes("speakers");
      };
    }

    /** Which groups measures leave out: those that fail a gate here or in another system. */
    function isLeftOut(metric) {
      const leftOut = grouping().leftOut[state.point] || {};
      return metric === "cost" ? lacks(metric) : (i) => Boolean((leftOut[metric] || [])[i]);
    }

    /** The verdict on a group's rate at the audited point that stands here; empty elsewhere. */
    function verdict(metric, i) {
      const point = pointHere();
      return ((point && (grouping().codes[point.text] || {})[metric]) || [])[i] || "";
    }

    function fillRates(row, spans, i, k) {
      const { curves, bands } = numbers(grouping());
      const curve = curves[i];
      N.RATES.forEach((metric, m) => {
        const [errors, trials] = m ? [curve.fn, curve.targets] : [curve.fp, curve.nontargets];
        if (k < 0) {
          row.put(metric, "–");
          spans.put(`${metric}_span`, "");
          row.put(`${metric}_counts`, "–");
          row.draw(metric, [NaN, NaN, NaN], "v-counted", "");
          return;
        }
        const value = N.rate(errors[k], trials);
        const reason = Number.isNaN(value) ? "undefined_value" : "";
        const [below, above] = N.limitsAt(
          grouping().nodes, thresholds(), bands[2 * m][i], bands[2 * m + 1][i], k,
        );
        const [low, high] = [Math.min(below, value), Math.max(above, value)];
        const isSmall = lacks(metric)(i);
        row.put(metric, `${told({ value, reason }, N.percent)}${isSmall ? "*" : ""}`, value);
        const isRough = N.isRough(grouping().nodes, k, errors[k], trials);
        spans.put(`${metric}_span`, N.span(low, high, 100, isRough));
        row.put(`${metric}_counts`, `${N.count(errors[k])}/${N.count(trials)}`);
        const code = row.cells[`${metric}_verdict`] ? verdict(metric, i) : "";
        row.draw(
          metric,
          [value, low, high].map((rate) => N.place(data.decades, rate)),
          `v-${code || "counted"}${isSmall ? " x-small" : ""}`,
          data.shapes[code] || data.shapes.inconclusive,
        );
      });
    }

    function fillCost(row, i, k) {
      const cost = k < 0 ? NaN : N.costAt(numbers(grouping()).curves[i], model(), k);
      row.put("cost", Number.isNaN(cost) ? "–" : N.figure(cost), cost);
    }

    /** A group against all others, or against pooled, both under the zero policy. */
    function fillReferences(row, gaps, i) {
      const { curves } = numbers(grouping());
      const [own, pooled, k] = [curves[i], curves[curves.length - 1], state.k];
      const less = state.reference === "others" ? 1 : 0;
      const pairs = N.RATES.map((metric, m) => {
        const [errors, trials] = m ? ["fn", "targets"] : ["fp", "nontargets"];
        return {
          own: [own[errors][k], own[trials]],
          ref: [pooled[errors][k] - less * own[errors][k], pooled[trials] - less * own[trials]],
        };
      });
      const values = pairs.map((one) => ({
        above: N.smoothed(...one.own, state.zero === "nist" ? "none" : state.zero),
        ref: N.smoothed(...one.ref, state.zero),
      }));
      const costs = ["own", "ref"].map((of) =>
        N.costOf(model(), N.rate(...pairs[0][of]), N.rate(...pairs[1][of])),
      );
      values.push({ above: costs[0], ref: costs[1] });
      [...N.RATES, "cost"].forEach((metric, m) => {
        const { above, ref } = values[m];
        const times = N.ratio(above, ref);
        const gap = above - ref;
        const size = m < 2 ? N.points(gap) : N.sized(gap, N.figure(Math.abs(gap)));
        gaps.put(`${metric}_difference`, size, gap);
        const ratio = told(times, (value) => `${N.short(value)}×`);
        (m < 2 ? row : gaps).put(`${metric}_ratio`, ratio, times.value);
        if (m === 2) return;
        const span = state.zero === "none" ? ratioSpan(i, m, times.value, pairs[m]) : "";
        row.put(`${metric}_ratio_span`, span);
        const code = verdict(metric, i);
        row.judge(`${metric}_verdict`, code, data.verdicts[code] || "");
      });
    }

    /** Limits of a group's ratio to all others, or to pooled, as far apart as to hold it. */
    function ratioSpan(i, m, value, { own, ref }) {
      const { bands } = numbers(grouping());
      const { nodes } = grouping();
      const [low, high] = [bands[4 + 2 * m][i], bands[5 + 2 * m][i]];
      const isOfPooled = state.reference === "pooled";
      const kept = N.limitsAt(nodes, thresholds(), low, high, state.k);
      const [below, above] = N.ratioLimits(kept, isOfPooled ? own[1] / ref[1] : 0);
      const isRough = [own, ref].some((counts) => N.isRough(nodes, state.k, ...counts));
      return N.span(Math.min(below, value), Math.max(above, value), 1, isRough);
    }

    function fillOwn(row, i, found, widest) {
      const here = thresholds()[state.k];
      const there = found.k < 0 ? NaN : thresholds()[found.k];
      const shift = there - here;
      const text = found.k < 0 ? `– (${data.reasons[found.reason]})` : N.general(there, 6);
      row.put("own", text, there);
      row.put("shift", N.sized(shift, N.general(Math.abs(shift), 4)), shift);
      const place = Number.isFinite(shift) ? 50 + (widest ? (45 * shift) / widest : 0) : NaN;
      const ends = [place, Math.min(place, 50), Math.max(place, 50)];
      row.draw("shift", ends, "v-counted", data.shapes.inconclusive);
      fillRates(row, row, i, found.k);
      fillCost(row, i, found.k);
      const common = N.costAt(numbers(grouping()).curves[i], model(), state.k);
      const least = (grouping().minima[model().name] || [])[i] ?? NaN;
      const isOne = model().p_target.length === 1;
      const bias = isOne ? N.thresholdBias(common, least) : { value: NaN, reason: "several_priors" };
      row.put("common_cost", Number.isNaN(common) ? "–" : N.figure(common), common);
      row.put("least", Number.isNaN(least) ? "–" : N.figure(least), least);
      row.put("bias", told(bias, N.short), bias.value);
    }

    function fillMeasures() {
      const { curves } = numbers(grouping());
      const k = state.k;
      const under = (zero) => ({
        fpr: curves.map((one) => N.smoothed(one.fp[k], one.nontargets, zero)),
        fnr: curves.map((one) => N.smoothed(one.fn[k], one.targets, zero)),
        cost: curves.map((one) => N.costAt(one, model(), k)),
      });
      const below = under(state.zero);
      const values = state.zero === "nist" ? under("none") : below;
      const metrics = Object.keys(below);
      const groups = (of) => Object.fromEntries(metrics.map((m) => [m, of[m].slice(0, -1)]));
      const used = Object.fromEntries(metrics.map((m) => {
        const isOut = isLeftOut(m);
        return [m, values[m].slice(0, -1).map((_, i) => !(state.isGated && isOut(i)))];
      }));
      const average = Object.fromEntries(metrics.map((m) => [m, below[m][curves.length - 1]]));
      const found = N.measures(
        data.rows, groups(values), groups(below), used, average, state.alpha,
      );
      const floors = knownFloors();
      for (const [id, row] of measured) {
        for (const [metric, one] of Object.entries(found[id])) {
          row.put(metric, told(one, N.figure), one.value);
          row.put(`${metric}_floor`, (floors[id] || {})[metric] || "");
        }
      }
    }

    /** The audited point that stands here, the one last chosen before others; none elsewhere. */
    function pointHere() {
      const here = list().points.filter((one) => one.k === state.k);
      return here.find((one) => one.text === state.point) || here[0];
    }

    /** What chance alone would show: known at audited points, as the audit weighed. */
    function knownFloors() {
      const point = pointHere();
      const isAsAudited = state.alpha === data.alpha && state.zero === data.zero[0];
      return (point && isAsAudited && (grouping().floors[point.text] || [])[Number(state.isGated)]) || {};
    }

    /** What the audit says at its point: its own sentences, as nothing else was tested. */
    function judged() {
      const point = pointHere();
      const said = point && grouping().verdicts[point.text];
      if (!said) return "";
      const words = Object.entries(data.errors).filter(([metric]) => metric in said);
      const sentences = words.map(([metric, [first, ...rest]]) =>
        `${first.toUpperCase()}${rest.join("")}: ${said[metric]}`,
      );
      return `${[`Audited here: ${point.words}`, ...sentences].join(". ")}.`;
    }

    /** Who has most of either error, of groups that are large enough for it; none of several. */
    function counted(rows) {
      const most = [];
      for (const [metric, words] of Object.entries(data.errors)) {
        const fails = lacks(metric);
        const rate = (row) => row.cells[metric].found.exact || 0;
        const [first, second] = rows.filter((_, i) => !fails(i)).sort((a, b) => rate(b) - rate(a));
        const isTold = second && rate(first) && first.cells[metric].text !== second.cells[metric].text;
        if (isTold) most.push(`${words} ${first.group}, ${first.cells[metric].text}`);
      }
      return most.length ? `Highest observed rates, not tested: ${most.join("; ")}.` : "";
    }

    // ---- the page follows

    function refill() {
      const one = grouping();
      for (const each of Object.values(tables)) {
        each.rows = one.groups.map((group, i) => {
          const row = new Row(each.template.cloneNode(true));
          row.group = group;
          row.put("group", group);
          return row;
        });
        const elements = one.order[state.order].map((i) => each.rows[i].element);
        const foot = elements.length > 1 ? [elements.pop()] : [];
        each.table.tBodies[0].replaceChildren(...elements);
        if (each.table.tFoot) each.table.tFoot.replaceChildren(...foot);
        else each.table.createTFoot().replaceChildren(...foot);
      }
      const rest = one.groups.length - 1 - data.seen;
      at("more").hidden = rest < 1;
      at("more").firstChild.textContent = `${rest} other groups`;
      tables.common.table.tBodies[0].childNodes.forEach((row, i) => {
        row.classList.toggle("x-other", i >= data.seen);
      });
      const how = one.allocation === "both" || !one.allocation ? ""
        : `, nontarget trials by ${one.allocation}`;
      const system = list().list ? `${list().system} on ${list().list}` : list().system;
      all("[data-x-where]", `${system}, ${one.name}${how}`);
      at("slider").max = list().thresholds.length - 1;
      all("[data-x-positions]", String(list().thresholds.length));
      all("[data-x-nodes]", String(one.nodes.length));
    }

    const all = (selector, text) => {
      for (const one of document.querySelectorAll(`#x ${selector}`)) {
        if (one.textContent !== text) one.textContent = text;
      }
    };

    function render() {
      const point = pointHere();
      if (point && point.text !== state.point) { // its gates, and whom they mark
        state.point = point.text;
        refill();
      }
      const { curves } = numbers(grouping());
      const k = state.k;
      tables.common.rows.forEach((row, i) => {
        const gaps = tables.gaps.rows[i];
        fillRates(row, gaps, i, k);
        fillCost(gaps, i, k);
        if (i < curves.length - 1) fillReferences(row, gaps, i);
      });
      const goal = aim();
      const own = curves.map((curve) => N.held(curve, goal.hold, goal.at, model()));
      const shifts = own.map((one) => Math.abs(thresholds()[one.k] - thresholds()[k]));
      const widest = Math.max(0, ...shifts.filter(Number.isFinite));
      tables.own.rows.forEach((row, i) => fillOwn(row, i, own[i], widest));
      fillMeasures();

      const where = N.general(thresholds()[k], 6);
      const pooled = tables.common.rows[curves.length - 1].cells;
      at("slider").value = k;
      const rates = N.RATES.map((metric) => pooled[metric].found.exact);
      const isOfImpostors = !Number.isNaN(rates[0]);
      const common = N.oneIn(rates[isOfImpostors ? 0 : 1]);
      all("#x-event", isOfImpostors ? "False accepts" : "False rejects");
      all("#x-rate", common);
      at("slider").setAttribute(
        "aria-valuetext",
        `false accepts: ${N.oneIn(rates[0])}, false rejects: ${N.oneIn(rates[1])}, score ${where}`,
      );
      for (const { table } of Object.values(tables)) {
        N.RATES.forEach((metric, m) => {
          const line = N.place(data.decades, rates[m]);
          table.style.setProperty(`--${metric}`, Number.isNaN(line) ? "-9rem" : part(line));
        });
      }
      at("threshold").value = where;
      at("threshold").exact = thresholds()[k];
      all("[data-x-threshold]", where);
      all("[data-x-target]", aimed(goal));
      all("[data-x-alpha]", String(state.alpha));
      all("[data-x-ratio]", `Times ${state.reference}`);
      all("[data-x-difference]", `Points above ${state.reference}`);
      all("[data-x-above]", `Above ${state.reference}`);
      const unknown = N.RATES.filter((_, m) => Number.isNaN(rates[m]));
      for (const metric of N.RATES) {
        tables.common.table.classList.toggle(`x-no-${metric}`, unknown.includes(metric));
      }
      all("#x-sentence", judged() || counted(tables.common.rows.slice(0, -1)));
      all("#x-note", note(unknown));
      for (const button of at("points").querySelectorAll("button")) {
        const { k: there } = list().points.find((one) => one.text === button.dataset.point);
        button.setAttribute("aria-pressed", String(there === k));
      }
    }

    /** How the table is read, and of which errors nothing is known. */
    function note(unknown) {
      const { groups, nodes } = grouping();
      const line = nodes.length ? `${data.confidence} % interval over speakers` : "none computed";
      const isAnySmall = N.RATES.some((metric) => groups.some((_, i) => lacks(metric)(i)));
      const { words } = list().points.find((one) => one.text === state.point) || {};
      return [
        ...unknown.map((metric) => `No result for ${data.errors[metric]}: no trials.`),
        `Mark: rate; line: ${line}; vertical line: all groups pooled.`,
        "The axes are fixed, with 0 at the left edge.",
        `Verdicts exist only at audited points: ${Object.values(data.verdicts).join(", ")}.`,
        ...(nodes.length && !nodes.includes(state.k) ? ["≈: approximate."] : []),
        ...(isAnySmall ? [`* Hollow: too few speakers or errors (${words}).`] : []),
      ].join(" ");
    }

    // ---- controls

    const say = (text) => (at("message").textContent = text);

    /** Show what is held in its field: rates in percent. */
    function showHeld() {
      at("hold").value = state.hold;
      at("at").disabled = state.hold === "least";
      at("at").removeAttribute("aria-invalid");
      const level = state.hold === "threshold" ? thresholds()[state.k] : state.at;
      const shown = { fpr: 100 * level, fnr: 100 * level, least: NaN }[state.hold] ?? level;
      at("at").value = Number.isNaN(shown) ? "" : N.general(shown, 6);
    }

    /** Hold a target for all: the common threshold goes where all trials hold it. */
    function hold(kind, level) {
      const [all] = numbers(list().everyone).curves;
      const found = kind === "threshold"
        ? { k: N.nearest(thresholds(), level), reason: "" }
        : N.held(all, kind, level, model());
      if (found.k < 0) {
        say(`No threshold meets this condition: ${data.reasons[found.reason]}.`);
        return;
      }
      Object.assign(state, { hold: kind, at: level, k: found.k });
      const where = N.general(thresholds()[found.k], 6);
      const size = list().thresholds.length;
      const isNone = kind === "cost" && N.costAt(all, model(), found.k) > level;
      if (isNone) say(`No threshold has a cost this low; ${where} has the minimum cost.`);
      else if (kind === "threshold") say(`The nearest of the ${size} positions is ${where}.`);
      else say(`Of the ${size} positions, ${where} meets this condition.`);
      showHeld();
      render();
    }

    function toPoint(point) {
      Object.assign(state, {
        k: point.k, hold: point.hold, at: point.at ?? NaN, point: point.text, order: point.text,
      });
      say("");
      refill();
      showHeld();
      render();
    }

    function submit(event) {
      event.preventDefault();
      const kind = at("hold").value;
      const typed = Number(at("at").value.trim().replace("%", "").replace(",", ".") || NaN);
      const level = kind === "fpr" || kind === "fnr" ? typed / 100 : typed;
      const isRate = kind === "fpr" || kind === "fnr";
      const isBad = kind !== "least" && (Number.isNaN(level) || (isRate && !(level > 0 && level < 1)));
      at("at").setAttribute("aria-invalid", String(isBad));
      if (isBad) say(isRate ? "Enter a percentage between 0 and 100, for example 1." : "Enter a number.");
      else hold(kind, level);
    }

    function options(select, names) {
      select.replaceChildren(...names.map((name, i) => new Option(name, String(i))));
      select.parentElement.hidden = names.length < 2;
    }

    /** What there is to choose of the list that is shown. */
    function relist() {
      const one = list();
      const many = (name) => one.groupings.filter((g) => g.name === name).length > 1;
      options(at("grouping"), one.groupings.map((g) =>
        many(g.name) ? `${g.name}, nontarget trials by ${g.allocation}` : g.name,
      ));
      const label = document.createElement("span");
      label.textContent = one.points.length ? "Audited points:" : "";
      at("points").replaceChildren(
        label,
        ...one.points.map((point, i) => {
          const button = document.createElement("button");
          Object.assign(button, { type: "button", textContent: point.words });
          button.dataset.point = point.text;
          button.addEventListener("click", () => toPoint(one.points[i]));
          return button;
        }),
      );
    }

    function toList() {
      const { hold: kind, at: level, point } = state;
      const before = grouping();
      state.list = Number(at("list").value);
      const same = list().groupings.findIndex(
        (g) => g.name === before.name && g.allocation === before.allocation,
      );
      state.grouping = Math.max(same, 0);
      relist();
      at("grouping").value = String(state.grouping);
      const found = list().points.find((one) => one.text === point) || list().points[0];
      if (found) toPoint(found);
      else {
        Object.assign(state, { k: list().start, hold: "threshold", at: NaN, point: "", order: "" });
        refill();
        showHeld();
        render();
      }
      if (kind !== "threshold" && !(found && found.hold === kind && found.at === level)) {
        hold(kind, level);
      }
    }

    function toModel() {
      state.model = Number(at("model").value);
      const { c_fa: cFa, c_miss: cMiss, p_target: pTarget } = model();
      at("costs").textContent = `C_fa ${cFa}, C_miss ${cMiss}, P_target ${pTarget.join(", ")}`;
    }

    options(at("list"), data.lists.map((one) =>
      one.list ? `${one.system} on ${one.list}` : one.system,
    ));
    options(at("model"), data.models.map((one) => one.name));
    const zeros = {
      none: "observed",
      jeffreys: "half an error more (jeffreys)",
      nist: "upper bound in the denominator (nist)",
    };
    options(at("zero"), data.zero.map((name) => zeros[name] || name));
    at("alpha").value = state.alpha;
    at("gated").parentElement.hidden = !Object.keys(grouping().gates).length;
    toModel();
    relist();

    at("list").addEventListener("change", toList);
    at("grouping").addEventListener("change", () => {
      state.grouping = Number(at("grouping").value);
      refill();
      render();
    });
    at("slider").addEventListener("input", () => {
      Object.assign(state, { k: Number(at("slider").value), hold: "threshold", at: NaN });
      say("");
      showHeld();
      render();
    });
    at("hold").addEventListener("change", () => {
      at("at").disabled = at("hold").value === "least";
      if (at("hold").value === "least") hold("least", NaN);
    });
    at("form").addEventListener("submit", submit);
    at("model").addEventListener("change", () => {
      toModel();
      if (state.hold === "least" || state.hold === "cost") hold(state.hold, state.at);
      else render();
    });
    at("alpha").addEventListener("input", () => {
      const alpha = at("alpha").valueAsNumber;
      const isBad = !(alpha >= 0 && alpha <= 1);
      at("alpha").setAttribute("aria-invalid", String(isBad));
      if (isBad) return;
      state.alpha = alpha;
      render();
    });
    at("zero").addEventListener("change", () => {
      state.zero = data.zero[Number(at("zero").value)];
      render();
    });
    at("more").firstChild.addEventListener("click", ({ target }) => {
      target.ariaExpanded = String(at("common").classList.toggle("x-whole"));
    });
    at("reference").addEventListener("change", () => {
      state.reference = at("reference").value;
      render();
    });
    at("gated").addEventListener("change", () => {
      state.isGated = at("gated").checked;
      render();
    });

    const [point] = list().points;
    if (point) toPoint(point);
    else {
      refill();
      showHeld();
      render();
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
