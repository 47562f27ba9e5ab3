/*
 * Zoom, search and details of the flame graph. Everything comes from the elements of the file itself: a frame's place is in
 * its attributes x, y and width (in percent of the whole), its numbers are in its title. Nothing is loaded, nothing is sent.
 */
(function () {
	'use strict';
	var CHARACTER = 6.63, PADDING = 4, NARROW = 24, THIN = 3, MARGINS = 0.98;
	var root = document.documentElement;
	var byId = function (id) { return document.getElementById(id); };
	var detail = byId('detail'), matched = byId('matched'), input = byId('search'), reset = byId('reset');
	var clear = byId('clear'), head = byId('head');
	var idle = detail.textContent;
	var frames = [], zoomed = null;

	function read(element) {
		var title = element.firstElementChild.textContent;
		var end = title.indexOf('\n');

		return {
			element: element,
			name: title.slice(0, end),
			about: title.slice(end + 1),
			x: parseFloat(element.getAttribute('x')),
			width: parseFloat(element.getAttribute('width')),
			row: parseInt(element.getAttribute('data-row'), 10),
			shown: true
		};
	}

	function label(frame, pixels) {
		var text = frame.element.querySelector('text');
		var room = Math.floor((pixels - PADDING) / CHARACTER);

		frame.element.classList.toggle('thin', pixels < THIN);
		if (pixels < NARROW) {
			if (text)
				text.classList.add('hidden');
			return;
		}
		if (!text) {
			text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
			text.setAttribute('x', '3');
			text.setAttribute('y', '12');
			frame.element.appendChild(text);
		}
		text.classList.remove('hidden');
		text.textContent = frame.name.length <= room ? frame.name : frame.name.slice(0, Math.max(room - 1, 0)) + '\u2026';
	}

	function place(frame, x, width) {
		frame.shown = width > 0;
		frame.element.classList.toggle('hidden', !frame.shown);
		if (!frame.shown)
			return;
		frame.left = x;
		frame.share = width;
		frame.element.setAttribute('x', x.toFixed(4) + '%');
		frame.element.setAttribute('width', width.toFixed(4) + '%');
		label(frame, width * root.clientWidth * MARGINS / 100);
	}

	/* The frame gets the whole width; what is around it stays as a row of its own, what is beside it goes. */
	function zoom(target) {
		var slack = 1e-4;

		zoomed = target && target.width < 100 ? target : null;
		frames.forEach(function (frame) {
			var around, inside;

			if (!zoomed) {
				frame.element.classList.remove('above');
				place(frame, frame.x, frame.width);
				return;
			}
			around = frame.row < zoomed.row && frame.x <= zoomed.x + slack &&
				frame.x + frame.width >= zoomed.x + zoomed.width - slack;
			inside = frame.row >= zoomed.row && frame.x >= zoomed.x - slack &&
				frame.x + frame.width <= zoomed.x + zoomed.width + slack;
			frame.element.classList.toggle('above', around);
			if (around)
				place(frame, 0, 100);
			else if (inside)
				place(frame, Math.max((frame.x - zoomed.x) / zoomed.width * 100, 0),
					Math.min(frame.width / zoomed.width * 100, 100));
			else
				place(frame, 0, 0);
		});
		reset.disabled = !zoomed;
		count();
	}

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
		var wanted = pattern(text);

		frames.forEach(function (frame) {
			frame.hit = !!wanted && wanted.test(frame.name);
			frame.element.classList.toggle('hit', frame.hit);
			frame.element.classList.toggle('miss', !!wanted && !frame.hit);
		});
		clear.disabled = !wanted;
		count();
	}

	/* The share of the width below which something matches; a match inside of a match counts once. */
	function count() {
		var hits, sum = 0, end = -1;

		if (clear.disabled) {
			matched.textContent = '';
			return;
		}
		hits = frames.filter(function (frame) {
			return frame.hit && frame.shown && !frame.element.classList.contains('above');
		});
		hits.sort(function (a, b) { return a.left - b.left || b.share - a.share; });
		hits.forEach(function (frame) {
			var from = Math.max(frame.left, end), to = frame.left + frame.share;

			if (to > from) {
				sum += to - from;
				end = to;
			}
		});
		matched.textContent = 'matched: ' + Math.min(sum, 100).toFixed(1) + ' %';
	}

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
		var element = node.closest ? node.closest('svg.f') : null;

		return element ? frames[parseInt(element.getAttribute('data-n'), 10)] : null;
	}

	Array.prototype.forEach.call(document.querySelectorAll('svg.f'), function (element) {
		element.setAttribute('data-n', frames.length);
		frames.push(read(element));
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
	if (root.hasAttribute('data-upwards'))
		window.scrollTo(0, root.getBoundingClientRect().height);
	follow();
}());
