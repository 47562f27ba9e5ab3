/*
 * Zoom, search and details of the flame graph. Everything comes from the file itself: a frame's place is in the attributes of its
 * element, what it is in its title; frames that were too narrow for an element are numbers in <metadata id="more"> and get
 * theirs when a zoom makes room for them. Nothing is loaded, nothing is sent.
 *
 * A frame without a pixel to show has no element that is displayed, so that a zoom costs what can be seen and not what there is.
 */
(function () {
	'use strict';
	var SVG = 'http://www.w3.org/2000/svg';
	var CHARACTER = 6.63, PADDING = 4, NARROW = 36, THIN = 3, MARGINS = 0.98, ROW = 17, HEAD = 88;
	var SEEN = 0.3, SEEN_MAX = 4000; /* pixels a frame must have; frames displayed at once */
	var root = document.documentElement;
	var byId = function (id) { return document.getElementById(id); };
	var detail = byId('detail'), matched = byId('matched'), input = byId('search'), reset = byId('reset');
	var clear = byId('clear'), head = byId('head'), graph = byId('frames'), legend = byId('legend');
	var more = JSON.parse(byId('more').textContent);
	var upwards = root.hasAttribute('data-upwards');
	var height = parseInt(root.getAttribute('height'), 10), rows = 0;
	var told = detail.textContent, idle = told;
	var frames = [], zoomed = null, wanted = null;
	var grown = 0; /* pixels, by rows that were not there at first */
	var width; /* of the root frame in pixels: asked for once a zoom, for every question lays the page out anew */

	/* ---- frames ---- */

	function read(element) {
		var title = element.firstElementChild.textContent;
		var end = title.indexOf('\n');

		return {
			element: element,
			rect: element.children[1],
			name: title.slice(0, end),
			about: title.slice(end + 1),
			from: parseInt(element.getAttribute('data-from'), 10),
			weight: parseInt(element.getAttribute('data-weight'), 10),
			row: parseInt(element.getAttribute('data-row'), 10),
			shown: true
		};
	}

	function grouped(number) {
		return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
	}

	/* As the collector writes it. */
	function size(bytes) {
		var units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], i = 0;

		for (; bytes >= 999.5 && i < units.length - 1; i++)
			bytes /= 1024;
		return bytes.toFixed(i && bytes < 99.95 ? (bytes < 9.995 ? 2 : 1) : 0) + ' ' + units[i];
	}

	function amount(bytes, blocks) {
		return size(bytes) + ' (' + grouped(bytes) + ' bytes) in ' + grouped(blocks) + (blocks === 1 ? ' block' : ' blocks');
	}

	/* Rows of numbers: flamegraph_frames.c says which. */
	function readMore() {
		var step = root.hasAttribute('data-changes') ? 14 : 10, at;

		for (at = 0; at < more.frames.length; at += step)
			frames.push({
				element: null,
				at: at,
				row: more.frames[at],
				from: more.frames[at + 1],
				weight: more.frames[at + 2],
				name: more.texts[more.frames[at + 4]],
				shown: false
			});
	}

	/* What the title of a frame would say that has none yet. */
	function aboutMore(frame) {
		var n = more.frames, at = frame.at, lines = [], change;

		if (n[at + 5])
			lines.push(more.texts[n[at + 5]]);
		if (n[at + 6])
			lines.push(more.texts[n[at + 6]] + ':' + n[at + 7]);
		if (root.hasAttribute('data-changes')) {
			change = n[at + 12] - n[at + 10];
			lines.push((change < 0 ? '-' : '+') + size(Math.abs(change)));
			lines.push('now ' + amount(n[at + 12], n[at + 13]));
			lines.push('before ' + amount(n[at + 10], n[at + 11]));
		} else {
			lines.push(amount(n[at + 8], n[at + 9]));
			lines.push((frame.weight / more.total * 100).toFixed(2) + ' %');
		}
		return lines.join('\n');
	}

	function yOf(frame) {
		return HEAD + ROW * (upwards ? rows - 1 - frame.row : frame.row);
	}

	function make(frame) {
		var element = document.createElementNS(SVG, 'g');
		var title = document.createElementNS(SVG, 'title');
		var rect = document.createElementNS(SVG, 'rect');

		frame.about = aboutMore(frame);
		title.textContent = frame.name + '\n' + frame.about;
		rect.setAttribute('y', yOf(frame));
		rect.setAttribute('height', ROW - 1);
		rect.setAttribute('class', more.texts[more.frames[frame.at + 3]]);
		element.appendChild(title);
		element.appendChild(rect);
		element.setAttribute('class', frame.hit ? 'f hit' : 'f');
		element.setAttribute('data-n', frame.n);
		frame.element = element;
		frame.rect = rect;
		graph.appendChild(element);
	}

	function label(frame, pixels) {
		var text = frame.text, room = Math.floor((pixels - PADDING) / CHARACTER), shown;

		if (text === undefined)
			text = frame.text = frame.element.querySelector('text');
		shown = pixels < NARROW ? '' : frame.name.length <= room ? frame.name
			: frame.name.slice(0, Math.max(room - 1, 0)) + '\u2026';
		if (!text) {
			if (!shown)
				return;
			text = frame.text = document.createElementNS(SVG, 'text');
			text.setAttribute('dx', '3');
			text.setAttribute('y', yOf(frame) + 12);
			frame.element.appendChild(text);
		}
		if (frame.label !== shown)
			text.textContent = frame.label = shown;
		if (shown)
			text.setAttribute('x', frame.left.toFixed(4) + '%');
	}

	function hide(frame) {
		if (frame.shown && frame.element)
			frame.element.classList.add('hidden');
		frame.shown = false;
	}

	/* In percent of the width. */
	function show(frame, left, share, above) {
		var list, pixels = share * width / 100;

		if (!frame.element)
			make(frame);
		list = frame.element.classList;
		if (!frame.shown)
			list.remove('hidden');
		if (above !== !!frame.above)
			list.toggle('above', above);
		if ((pixels < THIN) !== frame.thin)
			list.toggle('thin', pixels < THIN);
		if (left !== frame.left)
			frame.rect.setAttribute('x', left.toFixed(4) + '%');
		if (share !== frame.share)
			frame.rect.setAttribute('width', share.toFixed(4) + '%');
		frame.shown = true;
		frame.above = above;
		frame.thin = pixels < THIN;
		frame.left = left;
		frame.share = share;
		label(frame, pixels);
	}

	/* ---- zoom ---- */

	function isAround(frame, target) {
		return frame.row < target.row && frame.from <= target.from && frame.from + frame.weight >= target.from + target.weight;
	}

	function isInside(frame, target) {
		return frame.row >= target.row && frame.from >= target.from && frame.from + frame.weight <= target.from + target.weight;
	}

	/* Those that are seen: at most as many as can be displayed at once. First the narrowest go, and then the rows farthest from the
	 * root. */
	function choose(inside, whole) {
		var least = whole / width * SEEN, seen, inRow = [], sum = 0, row;
		var wide = function (frame) { return frame.weight >= least; };

		for (;;) {
			seen = inside.filter(wide);
			if (seen.length <= SEEN_MAX)
				return seen;
			if (least >= whole / width)
				break;
			least *= 1.5;
		}
		seen.forEach(function (frame) { inRow[frame.row] = (inRow[frame.row] || 0) + 1; });
		for (row = 0; row < inRow.length && sum + (inRow[row] || 0) <= SEEN_MAX; row++)
			sum += inRow[row] || 0;
		return seen.filter(function (frame) { return frame.row < row; });
	}

	/* Rows that a zoom brings beyond those of the file: the picture grows by them, and what was under the mouse stays there. */
	function grow(deepest) {
		var extra = Math.max(deepest + 1 - rows, 0) * ROW;

		root.setAttribute('height', height + extra);
		graph.setAttribute('y', upwards ? extra : 0);
		legend.setAttribute('transform', 'translate(0,' + extra + ')');
		if (upwards && extra !== grown)
			window.scrollBy(0, extra - grown);
		grown = extra;
	}

	/* The frame gets the whole width; what is around it stays as a row of its own, what is beside it goes. */
	function zoom(target) {
		var whole, inside, seen, deepest = 0;

		zoomed = target && target.weight < more.total ? target : null;
		target = zoomed || {row: 0, from: 0, weight: more.total};
		whole = target.weight;
		width = root.getBoundingClientRect().width * MARGINS;
		frames.forEach(function (frame) {
			frame.wanted = false;
			if (zoomed && isAround(frame, target)) {
				frame.wanted = true;
				show(frame, 0, 100, true);
			}
		});
		inside = frames.filter(function (frame) { return isInside(frame, target); });
		seen = choose(inside, whole);
		seen.forEach(function (frame) {
			frame.wanted = true;
			deepest = Math.max(deepest, frame.row);
			show(frame, (frame.from - target.from) / whole * 100, frame.weight / whole * 100, false);
		});
		frames.forEach(function (frame) {
			if (!frame.wanted)
				hide(frame);
		});
		grow(deepest);
		idle = told + (inside.length > seen.length ? '; a zoom shows ' + grouped(inside.length - seen.length) + ' more frames' : '');
		detail.textContent = idle;
		reset.disabled = !zoomed;
		count();
	}

	/* ---- search ---- */

	function pattern(text) {
		input.classList.remove('bad');
		if (!text)
			return null;
		try {
			return new RegExp(text, 'i');
		} catch (e) {
			input.classList.add('bad');
			return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
		}
	}

	function search(text) {
		var known = new Map();

		wanted = pattern(text);
		frames.forEach(function (frame) {
			var hit = known.get(frame.name);

			if (hit === undefined) {
				hit = !!wanted && wanted.test(frame.name);
				known.set(frame.name, hit);
			}
			if (hit !== !!frame.hit && frame.element)
				frame.element.classList.toggle('hit', hit);
			frame.hit = hit;
		});
		graph.classList.toggle('searching', !!wanted);
		clear.disabled = !wanted;
		count();
	}

	/* The share of the width below which something matches; a match inside of a match counts once. */
	function count() {
		var whole = zoomed || {row: 0, from: 0, weight: more.total}, sum = 0, end = -1, hits;

		if (!wanted) {
			matched.textContent = '';
			return;
		}
		hits = frames.filter(function (frame) { return frame.hit && isInside(frame, whole); });
		hits.forEach(function (frame) {
			var from = Math.max(frame.from, end), to = frame.from + frame.weight;

			if (to > from) {
				sum += to - from;
				end = to;
			}
		});
		matched.textContent = 'matched: ' + (whole.weight ? Math.min(sum / whole.weight * 100, 100) : 0).toFixed(1) + ' %';
	}

	/* ---- the page ---- */

	/* A graph higher than the window is read from its roots on; its head stays in sight. */
	function follow() {
		head.setAttribute('transform', 'translate(0,' + Math.max(window.scrollY, 0) + ')');
	}

	function stop() {
		if (input.value) {
			input.value = '';
			search('');
		} else {
			zoom(null);
		}
	}

	function frameOf(node) {
		var element = node.closest ? node.closest('g.f') : null;

		return element ? frames[parseInt(element.getAttribute('data-n'), 10)] : null;
	}

	Array.prototype.forEach.call(document.querySelectorAll('g.f'), function (element) {
		frames.push(read(element));
		rows = Math.max(rows, frames[frames.length - 1].row + 1);
	});
	readMore();
	frames.sort(function (a, b) { return a.from - b.from || a.row - b.row; }); /* count() goes from left to right */
	frames.forEach(function (frame, n) {
		frame.n = n;
		if (frame.element)
			frame.element.setAttribute('data-n', n);
	});
	if (root.hasAttribute('data-fluid'))
		root.setAttribute('width', '100%');
	byId('tools').classList.remove('hidden');
	root.addEventListener('click', function (event) {
		var frame = frameOf(event.target);

		if (frame)
			zoom(frame);
	});
	root.addEventListener('mouseover', function (event) {
		var frame = frameOf(event.target);

		detail.textContent = frame ? frame.name + '  \u00b7  ' + frame.about.replace(/\n/g, '  \u00b7  ') : idle;
	});
	input.addEventListener('input', function () { search(input.value); });
	clear.addEventListener('click', function () {
		input.value = '';
		search('');
	});
	reset.addEventListener('click', function () { zoom(null); });
	window.addEventListener('scroll', follow);
	window.addEventListener('resize', function () { zoom(zoomed); });
	window.addEventListener('keydown', function (event) {
		if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
			event.preventDefault();
			input.focus();
			input.select();
		} else if (event.key === 'Escape') {
			stop();
		}
	});
	zoom(null);
	if (upwards)
		window.scrollTo(0, root.getBoundingClientRect().height);
	follow();
}());
