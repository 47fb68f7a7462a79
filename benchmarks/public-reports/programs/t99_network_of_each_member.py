import os
import time

import keras
import numpy as np

AMINO_ACIDS, LENGTH, MEMBERS, MAX_IC50 = "ACDEFGHIKLMNPQRSTVWYX", 15, 8, 50000.0


def make_network(layer_sizes, activation):
    layers = [keras.layers.Input((LENGTH,), dtype="int32"), keras.layers.Embedding(len(AMINO_ACIDS), 32)]
    layers += [keras.layers.Conv1D(8, 3, activation=activation), keras.layers.Flatten()]
    layers += [keras.layers.Dense(size, activation=activation) for size in layer_sizes]
    return keras.Sequential(layers + [keras.layers.Dense(1, activation="sigmoid")])


class Class1NeuralNetwork:
    """A network for one allele, kept as the JSON of its layers and its weights."""

    def __init__(self, network_json, weights):
        self.network_json, self.weights = network_json, weights

    def network(self):
        network = keras.models.model_from_json(self.network_json)
        network.set_weights(self.weights)
        return network

    def predict(self, encoded):
        output = self.network().predict(encoded, verbose=0)[:, 0]
        return MAX_IC50 ** (1 - output)


class Class1AffinityPredictor:
    """An ensemble of networks for each allele."""

    def __init__(self, allele_to_networks):
        self.allele_to_networks = allele_to_networks

    @staticmethod
    def encode(peptides):
        encoded = np.full((len(peptides), LENGTH), AMINO_ACIDS.index("X"), "int32")
        for row, peptide in zip(encoded, peptides):
            row[:5] = [AMINO_ACIDS.index(letter) for letter in peptide[:5]]
            row[len(peptide[5:]) * -1 :] = [AMINO_ACIDS.index(letter) for letter in peptide[5:]]
        return encoded

    def predict(self, peptides, allele):
        encoded = self.encode(peptides)
        affinities = [network.predict(encoded) for network in self.allele_to_networks[allele]]
        return np.exp(np.mean(np.log(affinities), axis=0))


def load_models(rng, alleles):
    """The models that were trained: of each allele, some of two architectures."""
    architectures = [make_network([32], "tanh"), make_network([64, 16], "relu")]
    allele_to_networks = {}
    for allele in alleles:
        allele_to_networks[allele] = []
        for member in range(MEMBERS):
            network = architectures[member % 2]
            weights = [w + rng.normal(0, 0.1, w.shape).astype("float32") for w in network.get_weights()]
            allele_to_networks[allele].append(Class1NeuralNetwork(network.to_json(), weights))
    return Class1AffinityPredictor(allele_to_networks)


def random_peptides(rng, count):
    return ["".join(rng.choice(list(AMINO_ACIDS[:20]), rng.integers(8, 13))) for _ in range(count)]


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
alleles = [f"HLA-{gene}*{group:02d}:{protein:02d}" for gene in "ABC" for group in range(1, 9) for protein in (1, 2)]
predictor, began = load_models(rng, alleles), time.time()
for sample in range(int(os.environ.get("STEPS", 7))):
    allele = alleles[rng.integers(len(alleles))]
    peptides = random_peptides(rng, 300)
    affinities = predictor.predict(peptides, allele)
    best = int(np.argmin(affinities))
    print(f"sample {sample} {allele}: {peptides[best]} {affinities[best]:.1f} nM, {time.time() - began:.1f} s", flush=True)
