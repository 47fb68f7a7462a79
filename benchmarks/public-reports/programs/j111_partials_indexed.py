import os

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
NODES = 80
INPUTS = ("h", "v", "gam", "m", "alpha", "thrust")
OUTPUTS = ("h_dot", "r_dot", "v_dot", "gam_dot", "m_dot", "q", "load")


class FlightDynamics:
    """Explicit component: one state of the aircraft at each node of the trajectory."""

    def __init__(self):
        self.subjacs, self.partials = {}, {}
        nodes = np.arange(NODES)
        for of in OUTPUTS:
            for wrt in INPUTS:
                self.declare_partials(of, wrt, rows=nodes, cols=nodes)
        self._compute = jax.jit(self.compute_primal)
        self._jac_func = jax.jit(jax.jacfwd(self.compute_primal, argnums=tuple(range(len(INPUTS)))))

    def declare_partials(self, of, wrt, rows, cols):
        self.subjacs[of, wrt] = {"rows": rows, "cols": cols}
        self.partials[of, wrt] = np.zeros(len(rows))

    @staticmethod
    def compute_primal(h, v, gam, m, alpha, thrust):
        rho = 1.225 * jnp.exp(-h / 8.5)
        q = 0.5 * rho * v**2
        lift = q * (0.2 + 4.5 * alpha)
        drag = q * (0.03 + 0.6 * alpha**2)
        v_dot = (thrust * jnp.cos(alpha) - drag) / m - 0.1 * jnp.sin(gam)
        gam_dot = (thrust * jnp.sin(alpha) + lift) / (m * v) - 0.1 * jnp.cos(gam) / v
        return v * jnp.sin(gam), v * jnp.cos(gam), v_dot, gam_dot, -0.05 * thrust, q, lift / m

    def compute(self, inputs):
        values = self._compute(*(inputs[name] for name in INPUTS))
        return dict(zip(OUTPUTS, (np.asarray(value) for value in values)))

    def linearize(self, inputs):
        deriv_vals = self._jac_func(*(inputs[name] for name in INPUTS))
        for ofidx, of in enumerate(OUTPUTS):
            for wrtidx, wrt in enumerate(INPUTS):
                dvals = deriv_vals[ofidx][wrtidx]
                sjmeta = self.subjacs[of, wrt]
                self.partials[of, wrt][:] = dvals[sjmeta["rows"], sjmeta["cols"]]
        return self.partials


def optimize(iterations):
    rng = np.random.default_rng(0)
    comp = FlightDynamics()
    truth = {name: 1.0 + 0.1 * rng.normal(size=NODES) for name in INPUTS}
    wanted = comp.compute(truth)
    inputs = {name: np.ones(NODES) for name in INPUTS}
    for iteration in range(iterations):
        outputs = comp.compute(inputs)
        residuals = {of: outputs[of] - wanted[of] for of in OUTPUTS}
        partials = comp.linearize(inputs)
        for wrt in INPUTS:
            inputs[wrt] = inputs[wrt] - 0.004 * sum(partials[of, wrt] * residuals[of] for of in OUTPUTS)
        if iteration % 20 == 0:
            print(iteration, sum(float(r @ r) for r in residuals.values()), flush=True)


optimize(int(os.environ.get("STEPS", 200)))
