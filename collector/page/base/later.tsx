// A view that is loaded when it is opened first, so that the page itself is small.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice } from './ui';

export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
	let loaded: ComponentType<P> | undefined;
	return function Later(props: P) {
		const [, setThere] = useState(false);
		const [failed, setFailed] = useState(false);
		useEffect(() => {
			if (!loaded)
				load().then(
					(view) => {
						loaded = view;
						setThere(true);
					},
					() => setFailed(true),
				);
		}, []);
		if (failed)
			return (
				<Notice title="This view can't be loaded.">
					The collector does not answer, or is another version now. Load the page again.
				</Notice>
			);
		const View = loaded;
		return View ? (
			<View {...props} />
		) : (
			<div class="wait" role="status" aria-label="Loading the view" />
		);
	};
}
