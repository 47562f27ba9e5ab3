// Every view of every recording, in both themes and three widths: nothing fails, nothing is cut off
// sideways, axe-core finds nothing serious.
const SIZES = [
	[360, 740],
	[1280, 800],
	[2560, 1300],
];

export default async function ({ page, open, settled, picture, accessible, check, args }) {
	const frames = () =>
		page.evaluate(
			() =>
				new Promise((then) =>
					requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(then, 30))),
				),
		);
	for (const named of args) {
		const [name, stream] = named.split('=');
		await open(`#/${stream}/overview`);
		const views = await page
			.locator('.views a')
			.evaluateAll((links) => links.map((a) => a.getAttribute('href')));
		check(`${name} has views`, views.length > 3, views.length);
		for (const href of views) {
			const view = /\/([^/?]+)(\?|$)/.exec(href)[1];
			await open(href);
			const text = (await page.locator('main').innerText()).trim();
			check(`${name}: ${view} is shown`, text.length > 0);
			const drawn = await page
				.locator('main')
				.locator('canvas, tbody tr, .vt-row, svg.spark, .notice strong')
				.count();
			check(
				`${name}: ${view} shows something, or says why not`,
				drawn > 0 || text.length > 60,
				text,
			);
			await accessible(`${name}: ${view}`);
			for (const [width, height] of SIZES)
				for (const colorScheme of ['light', 'dark']) {
					await page.setViewportSize({ width, height });
					await page.emulateMedia({ colorScheme });
					// The new size and theme are drawn in the frames that follow.
					for (let i = 0; i < 4; i++) await frames();
					await settled();
					const wide = await page.evaluate(
						() =>
							document.documentElement.scrollWidth -
							document.documentElement.clientWidth,
					);
					check(`${name}: ${view} fits ${width} px`, wide <= 0, `${wide} px too wide`);
					await picture(`${name}-${view}-${width}-${colorScheme}`);
				}
			await page.setViewportSize({ width: 1280, height: 800 });
			await page.emulateMedia({ colorScheme: 'light' });
		}
	}
}
