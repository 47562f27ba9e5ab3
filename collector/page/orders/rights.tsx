// What the one who looks may do here: give orders, import files. The page can't see its cookie, nor
// whether a token that it has kept still holds, so it asks (/rights): when it starts, when the
// collector is there again, and when an order was refused.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { ask, hasToken, setToken } from '../base/ask';
import { useFleet } from '../frame/fleet_state';

export interface Rights {
	orders: boolean;
	why?: string;
	/** By the cookie of the login page. */
	login: boolean;
	/** A data folder is served. */
	data: boolean;
	import_bytes: number;
}

interface Known {
	rights?: Rights;
	again: () => void;
}

export const RightsContext = createContext<Known>({ again: () => {} });

export function useRights(): Known {
	return useContext(RightsContext);
}

/**
 * For the one who provides RightsContext. `connected`: to the collector, which may have been
 * started anew.
 */
export function useAskedRights(connected: boolean): Known {
	const [rights, setRights] = useState<Rights>();
	const [times, setTimes] = useState(0);
	useEffect(() => {
		if (!connected) return undefined;
		const abort = new AbortController();
		ask<Rights>('rights', { signal: abort.signal }).then(setRights, () => {});
		return () => abort.abort();
	}, [connected, times]);
	return { rights, again: () => setTimes((n) => n + 1) };
}

/** Why nothing can be ordered, and what to do: the token can be given here, too. */
export function Refused() {
	const { again } = useRights();
	const [text, setText] = useState('');
	const where = `${location.origin}${location.pathname}#token=…`;
	return (
		<form
			class="refused"
			onSubmit={(event) => {
				event.preventDefault();
				setToken(text.trim());
				setText('');
				again();
			}}
		>
			<p role="status">
				{hasToken()
					? 'This tab’s token is not this collector’s: the collector may have ' +
						'been restarted.'
					: 'Orders and imports need the token, as others may share this machine.'}{' '}
				The collector printed it with its address when it started: open{' '}
				<code>{where}</code> as it stands there. With <code>--token FILE</code> it is in
				that file.
			</p>
			<label>
				Token{' '}
				<input
					type="password"
					autocomplete="off"
					required
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
				/>
			</label>{' '}
			<button type="submit" class="button">
				Use it
			</button>
		</form>
	);
}

/** Ends the login of a browser from elsewhere. */
export function Logout() {
	const { rights } = useRights();
	const { connected } = useFleet();
	if (!rights?.login) return null;
	const leave = async () => {
		// The answer leads to the page, which is not to be followed: what comes then is the login
		// page.
		await fetch('logout', { method: 'POST', redirect: 'manual' }).catch(() => undefined);
		location.reload();
	};
	return (
		<button type="button" class="button" disabled={!connected} onClick={leave}>
			Log out
		</button>
	);
}
